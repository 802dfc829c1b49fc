import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, slidingWindow, tokenBucket } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import type { PolicyText } from '../../children/start.ts';

const redis = useRedis();
const SCRIPT = fileURLToPath(new URL('../../children/reserve.mjs', import.meta.url));
const UNITS = 10_000_000;
const EACH = 250;

/** None of them gives anything back while the test runs. */
const policies: readonly (PolicyText & { readonly kind: string })[] = [
  { kind: 'fixedWindow', make: 'fixedWindow', options: { limit: UNITS, window: '1d' } },
  { kind: 'slidingWindow', make: 'slidingWindow', options: { limit: UNITS, window: '10d' } },
  { kind: 'tokenBucket', make: 'tokenBucket', options: { capacity: UNITS, refill: 1, every: '1d' } },
  {
    kind: 'intervalBucket',
    make: 'tokenBucket',
    options: { capacity: UNITS, refill: 5, every: '1d', mode: 'interval' },
  },
];
const made = { fixedWindow, slidingWindow, tokenBucket };

interface Sums {
  readonly used: Readonly<Record<string, number>>;
  readonly outstanding: number;
}

class Child {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string, undefined>;

  constructor(seed: number) {
    const args = [SCRIPT, redis.server.storeUrl, JSON.stringify(policies), String(EACH), String(seed)];
    this.process = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('a child process ended early');
    return value;
  }

  async goOn(): Promise<Sums> {
    this.process.stdin.write('go\n');
    return JSON.parse(await this.line()) as Sums;
  }

  async kill(): Promise<void> {
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }
}

const started: Child[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.process.kill('SIGKILL');
});

describe('a thousand reservations of four processes, two of which are killed before they could settle all', () => {
  it('leave as much as was used, and the estimates of what was not settled', async () => {
    for (let seed = 1; seed <= 4; seed++) started.push(new Child(seed * 7_919));
    const [one, two, killed, other] = started as [Child, Child, Child, Child];
    await Promise.all(started.map((child) => child.line()));

    const inMidst = await Promise.all(started.map((child) => child.goOn()));
    await Promise.all([killed.kill(), other.kill()]);
    const sums = [...(await Promise.all([one.goOn(), two.goOn()])), ...inMidst.slice(2)];

    expect(inMidst.map(({ outstanding }) => outstanding > 10)).toEqual([true, true, true, true]);
    const expected = new Map<string, number>();
    for (const { used } of sums) {
      for (const [name, units] of Object.entries(used)) expected.set(name, (expected.get(name) ?? 0) + units);
    }
    const exactly = {
      store: redisStore(redis.client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    } as const;
    for (const [i, { make, options }] of policies.entries()) {
      const limiter = createLimiter({ name: `p${String(i)}`, policy: made[make](options as never), ...exactly });
      for (const key of ['client-0', 'client-1', 'client-2']) {
        const { remaining } = await limiter.peek(key, 0);
        expect({ key, used: UNITS - remaining }).toEqual({ key, used: expected.get(`p${String(i)} ${key}`) });
      }
    }
  });
});
