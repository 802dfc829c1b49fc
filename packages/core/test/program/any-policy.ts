import type { Random } from '@sluice/testkit';
import { concurrency } from '../../src/policies/concurrency.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Policy } from '../../src/policies/index.ts';
import { leakyBucket } from '../../src/policies/leaky-bucket.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import type { Duration } from '../../src/values/duration.ts';

const LIMITS = [1, 2, 3, 5, 10, 100, 900] as const;
const WINDOWS = ['1ms', '2ms', '7ms', '25ms', '100ms', '1s', '7s', '1m', '1d', '30d'] as const;

type Maker = (random: Random, blockFor: { readonly blockFor?: Duration }) => Policy;
const limit = (random: Random): number => (random.percent(10) ? 0 : random.pick(LIMITS));
const window = (random: Random, blockFor: object) => ({
  limit: limit(random),
  window: random.pick(WINDOWS),
  ...blockFor,
});
const bucket =
  (mode: 'continuous' | 'interval'): Maker =>
  (random, blockFor) =>
    tokenBucket({
      capacity: random.pick(LIMITS),
      refill: random.pick(LIMITS),
      every: random.pick(WINDOWS),
      overdraft: random.pick([0, 0, 1, 3, 40]),
      mode,
      ...blockFor,
    });

/** A policy of each kind, with numbers that exist in practice and at the edges. */
const KINDS = {
  fixedWindow: (random, blockFor) => {
    return fixedWindow({ ...window(random, {}), align: random.pick(['clock', 'first-hit']), ...blockFor });
  },
  slidingWindow: (random, blockFor) => slidingWindow(window(random, blockFor)),
  slidingCounter: (random, blockFor) => slidingCounter(window(random, blockFor)),
  slidingLog: (random, blockFor) => slidingLog(window(random, blockFor)),
  tokenBucket: bucket('continuous'),
  intervalBucket: bucket('interval'),
  leakyBucket: (random) =>
    leakyBucket({
      limit: random.pick(LIMITS),
      window: random.pick(WINDOWS),
      maxDelay: random.pick(['0ms', '1ms', '250ms', '5s']),
    }),
  concurrency: (random) => concurrency({ limit: limit(random), ttl: random.pick(WINDOWS) }),
} satisfies Record<string, Maker>;

/** A policy of each kind, of this many units in each window. */
export function everyPolicy(limit: number, windowMs: number): Readonly<Record<KindName | 'onClock', Policy>> {
  const window = `${windowMs}ms` as const;
  const each = { limit, window };
  const half = { capacity: limit, refill: Math.ceil(limit / 2), every: `${Math.ceil(windowMs / 2)}ms` } as const;
  return {
    fixedWindow: fixedWindow(each),
    onClock: fixedWindow({ ...each, align: 'clock' }),
    slidingWindow: slidingWindow(each),
    slidingCounter: slidingCounter(each),
    slidingLog: slidingLog(each),
    tokenBucket: tokenBucket(half),
    intervalBucket: tokenBucket({ ...half, mode: 'interval' }),
    leakyBucket: leakyBucket({ ...each, maxDelay: window }),
    concurrency: concurrency({ limit, ttl: window }),
  };
}

export type KindName = keyof typeof KINDS;
export const NAMES = Object.keys(KINDS) as KindName[];

export function anyPolicy(random: Random, kind: KindName, blocks = true): Policy {
  return KINDS[kind](random, blocks && random.percent(30) ? { blockFor: random.pick(['1ms', '50ms', '3s']) } : {});
}
