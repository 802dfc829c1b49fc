import { getMessage } from '../../errors.ts';
import type { Port } from './clients/port.ts';
import { toStoreError } from './failure.ts';
import type { Script } from './lua/generated/scripts.generated.ts';

/** In a cluster, each node has to receive a script, one after the other. */
const MAX_TRIES = 16;

/**
 * Runs scripts by their SHA-1. If the server does not know one (first use, restart, failover, SCRIPT FLUSH), the call is
 * sent once more with the source. No other failure is tried again because the call may have counted.
 */
export class ScriptRunner {
  readonly #port: Port;
  /** The last full transfer of each script: other calls wait for it instead of each sending many kilobytes. */
  readonly #loads = new Map<Script, Promise<unknown>>();

  constructor(port: Port) {
    this.#port = port;
  }

  /** @throws (rejects) StoreError. */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const away = this.#port.whyAway?.();
    if (away !== undefined) throw toStoreError(away, false);
    for (let tries = 1; ; tries++) {
      const before = this.#loads.get(script);
      try {
        return await this.#port.evalsha(script.sha1, keys, args);
      } catch (error) {
        if (!/^(Command failed: )?NOSCRIPT|NoScriptError/.test(getMessage(error))) throw toStoreError(error);
      }
      const load = this.#loads.get(script);
      // In a cluster another node may have received it.
      if (load === before || tries === MAX_TRIES) break;
      await load?.catch(() => undefined);
    }
    try {
      const load = this.#port.eval(script.source, keys, args);
      this.#loads.set(script, load);
      return await load;
    } catch (error) {
      throw toStoreError(error);
    }
  }
}
