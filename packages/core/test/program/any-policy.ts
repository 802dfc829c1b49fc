import type { Random } from '@sluice/testkit';
import { plan } from './plans.ts';
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from './policies.ts';
import type { Plan } from './memory.ts';

const LIMITS = [1, 2, 3, 5, 10, 100, 900] as const;
const WINDOWS = ['1ms', '2ms', '7ms', '25ms', '100ms', '1s', '7s', '1m', '1d', '30d'] as const;

type Maker = (random: Random) => Policy;
const limit = (random: Random): number => (random.percent(10) ? 0 : random.pick(LIMITS));
const bucket =
  (mode: 'continuous' | 'interval'): Maker =>
  (random) =>
    tokenBucket({
      capacity: random.pick(LIMITS),
      refill: random.pick(LIMITS),
      every: random.pick(WINDOWS),
      overdraft: random.pick([0, 0, 3, 40]),
      mode,
    });

/** A policy of each kind, with numbers that exist in practice and at the edges. */
export const MAKERS: Readonly<Record<string, Maker>> = {
  fixedWindow: (random) =>
    fixedWindow({ limit: limit(random), window: random.pick(WINDOWS), align: random.pick(['clock', 'first-hit']) }),
  slidingWindow: (random) => slidingWindow({ limit: limit(random), window: random.pick(WINDOWS) }),
  slidingCounter: (random) => slidingCounter({ limit: limit(random), window: random.pick(WINDOWS) }),
  slidingLog: (random) => slidingLog({ limit: limit(random), window: random.pick(WINDOWS) }),
  tokenBucket: bucket('continuous'),
  intervalBucket: bucket('interval'),
  leakyBucket: (random) =>
    leakyBucket({
      limit: random.pick(LIMITS),
      window: random.pick(WINDOWS),
      maxDelay: random.pick(['0ms', '1ms', '250ms', '5s']),
    }),
  concurrency: (random) => concurrency({ limit: limit(random), ttl: random.pick(WINDOWS) }),
};

export function anyPlan(random: Random, kind: string = random.pick(Object.keys(MAKERS) as [string])): Plan {
  const made = plan((MAKERS[kind] as Maker)(random));
  if (random.percent(30)) made.numbers[2] = random.pick([1, 50, 3_000]); // blockFor
  return made;
}
