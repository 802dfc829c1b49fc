import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

const CLOCK = 'virtual:now';
/** What scripts read in place of the server's clock. */
const TIME = `(function()
  local now = tonumber(redis.call("GET", "${CLOCK}"))
  return { math.floor(now / 1000), (now % 1000) * 1000 }
end)()`;

/** A real Redis whose scripts read a clock that the test sets, and whose clients can be cut off. */
export class VirtualRedis {
  readonly #admin: Redis;
  isDown = false;
  #pending = 0;

  constructor(admin: Redis) {
    this.#admin = admin;
  }

  async setClock(nowMs: number): Promise<void> {
    await this.#admin.set(CLOCK, String(nowMs));
  }

  /** A client as another process has it. */
  client(): { evalsha: Call; eval: Call } {
    const scripts = new Map<string, Promise<unknown>>();
    const run = async (sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> => {
      if (this.isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      const loaded = scripts.get(sha1);
      if (loaded === undefined) throw new Error('NOSCRIPT No matching script');
      this.#pending++;
      try {
        return await this.#admin.evalsha(String(await loaded), keys.length, ...keys, ...args);
      } finally {
        this.#pending--;
      }
    };
    return {
      evalsha: run,
      eval: (source, keys, args) => {
        const sha1 = createHash('sha1').update(source).digest('hex');
        const virtual = source.replaceAll('redis.call("TIME")', TIME);
        if (!scripts.has(sha1)) scripts.set(sha1, this.#admin.script('LOAD', virtual));
        return run(sha1, keys, args);
      },
    };
  }

  /** Resolves when no call is under way, and what follows from the last ones is done. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 4; quiet = this.#pending > 0 ? 0 : quiet + 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

type Call = (script: string, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
