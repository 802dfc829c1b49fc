import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { cases, fakeClock, seeded, testSeed, type FakeClock, type Random, expectWarnings } from '@sluice/testkit';
import { registry, type View } from './lagging-views.ts';

expectWarnings('SLUICE_UNIT_MISSING');

const seed = testSeed(20_261_122);
const RUNS = cases(30);
const STEPS = 120;
const WINDOW_MS = 10_000;

/** A decision on the only key, with its instant and the version it was made by. */
interface Resolution {
  readonly atMs: number;
  readonly cost: number;
  readonly decision: Decision;
  /** Place in the order of puts. */
  readonly version: number;
}

interface Process {
  readonly view: View;
  readonly limiter: Limiter;
}

/**
 * A policy that changes at random instants (each time with another limit, always with `keep`), and three processes
 * that hear of it at random instants of their own, some of them only when they are told that they are stale, and some
 * not even then.
 */
async function history(
  random: Random,
  policyOf: (limit: number) => Policy,
  limits: readonly number[],
): Promise<readonly Resolution[]> {
  const clock: FakeClock = fakeClock();
  const store = memoryStore({ clock });
  const { policies, view: viewOf } = registry();
  const put = async (version: number): Promise<unknown> =>
    policies.put('orders', policyOf(limits[version] as number), { apps: ['checkout'] });
  let newest = 0;
  await put(newest);
  const processes = ['one', 'two', 'three'].map((name): Process => {
    const view = viewOf();
    const limiter = createLimiter({
      name,
      policy: managed('orders'),
      app: 'checkout',
      policies: view.policies,
      store,
      onStoreError: 'throw',
      timeoutMs: 10_000,
    });
    return { view, limiter };
  });
  const asked: Resolution[] = [];
  for (let step = 0; step < STEPS; step++) {
    clock.advance(random.pick([0, 0, 0, 1, random.integer(1, 300), random.integer(1, WINDOW_MS)]));
    const { view, limiter } = random.pick(processes as [Process, ...Process[]]);
    if (random.percent(10) && newest + 1 < limits.length) await put(++newest);
    if (random.percent(15)) await view.hear();
    view.isDeaf = random.percent(30);
    const cost = random.pick([1, 1, 2, random.integer(1, 30), random.integer(1, 120)]);
    try {
      const decision = await limiter.consume('the-key', cost);
      view.isDeaf = true;
      asked.push({ atMs: clock.atMs, cost, decision, version: limits.indexOf(decision.limit) });
    } catch (error) {
      expect(error).toMatchObject({ code: 'SLUICE_POLICY_STALE' }); // this process does not know the change: nothing was consumed
      view.isDeaf = true;
    }
  }
  await Promise.all(processes.map(({ limiter }) => limiter.close()));
  return asked;
}

/** Ten different limits, so that the limit of a decision identifies its version. */
const anyLimits = (random: Random): number[] => {
  const limits = new Set<number>();
  while (limits.size < 10) limits.add(random.integer(1, 100));
  return [...limits];
};

async function histories(
  policyOf: (limit: number) => Policy,
  limitsOf: (random: Random) => number[],
  check: (asked: readonly Resolution[], limits: readonly number[]) => void,
): Promise<void> {
  const seen = { versions: new Set<number>(), denied: 0, allowed: 0 };
  for (let run = 0; run < RUNS; run++) {
    const random = seeded(seed + run);
    const limits = limitsOf(random);
    const asked = await history(random, policyOf, limits);
    check(asked, limits);
    for (const { version, decision } of asked) {
      seen.versions.add(version);
      if (decision.allowed) seen.allowed++;
      else seen.denied++;
    }
  }
  expect(seen.versions.size).toBeGreaterThan(5);
  expect(seen.allowed).toBeGreaterThan(RUNS * 5);
  expect(seen.denied).toBeGreaterThan(RUNS * 5);
}

const unitsOf = (asked: readonly Resolution[]): number =>
  asked.reduce((sum, { cost, decision }) => sum + (decision.allowed ? cost : 0), 0);

describe('a policy that changes, with keep, while processes hear of it at different times', () => {
  it('fixedWindow: no window allows more than the largest limit of its requests, and only units consumed in it lead to denials', async () => {
    const policyOf = (limit: number): Policy => fixedWindow({ limit, window: WINDOW_MS });

    await histories(policyOf, anyLimits, (asked) => {
      let window: { endMs: number; asked: Resolution[] } = { endMs: 0, asked: [] };
      for (const one of asked) {
        if (one.atMs >= window.endMs) window = { endMs: Infinity, asked: [] };
        const used = unitsOf(window.asked);
        const { allowed, limit, remaining, resetAfterMs } = one.decision;
        expect({ allowed, remaining }).toEqual({
          allowed: used + one.cost <= limit,
          remaining: Math.max(limit - used - (allowed ? one.cost : 0), 0),
        });
        if (window.endMs === Infinity && allowed) window.endMs = one.atMs + WINDOW_MS;
        if (window.endMs !== Infinity) {
          window.asked.push(one);
          expect(one.atMs + resetAfterMs).toBe(window.endMs);
        }
        expect(unitsOf(window.asked)).toBeLessThanOrEqual(
          Math.max(0, ...window.asked.map((each) => each.decision.limit)),
        );
        // Once a later version has decided in this window, no earlier one does.
        expect(window.asked.every(({ version }) => version <= one.version)).toBe(true);
        if (window.endMs === Infinity) window.endMs = 0;
      }
    });
  });

  it('slidingWindow: no interval of that length allows more than the largest limit of its requests, and only units that still count lead to denials', async () => {
    const policyOf = (limit: number): Policy => slidingWindow({ limit, window: WINDOW_MS });
    const blockOf = (atMs: number): number => Math.floor(atMs / (WINDOW_MS / 10));

    /** A block leaves a window after its latest charge, or after its end if a later block was charged before that. */
    const leftByMs = (asked: readonly Resolution[], block: number): number => {
      const charged = asked.filter(({ decision }) => decision.allowed).map(({ atMs }) => atMs);
      const untilMs = Math.max(...charged.filter((atMs) => blockOf(atMs) === block)) + WINDOW_MS;
      const isOlder = charged.some((atMs) => blockOf(atMs) > block && atMs < untilMs);
      return isOlder ? (block + 1) * (WINDOW_MS / 10) - 1 + WINDOW_MS : untilMs;
    };

    await histories(policyOf, anyLimits, (asked) => {
      for (const [i, { atMs, cost, decision }] of asked.entries()) {
        const before = asked.slice(0, i);
        const used = unitsOf(before.filter((one) => atMs < leftByMs(before, blockOf(one.atMs))));
        expect(decision.allowed).toBe(used + cost <= decision.limit);
        const interval = [...before, asked[i] as Resolution].filter((one) => one.atMs > atMs - WINDOW_MS);
        expect(unitsOf(interval)).toBeLessThanOrEqual(Math.max(...interval.map((one) => one.decision.limit)));
      }
    });
  });

  // Units come back one in 100 ms, whatever the capacity.
  const bucketOf = (capacity: number): Policy => tokenBucket({ capacity, refill: 1, every: 100 });

  it('tokenBucket that only grows: no interval allows more than the largest capacity and what comes back', async () => {
    const growing = (random: Random): number[] => anyLimits(random).toSorted((one, other) => one - other);

    await histories(bucketOf, growing, (asked) => {
      expect(mostAbove(asked, 0)).toBeLessThanOrEqual(0);
    });
  });

  it('tokenBucket: nor, where it shrinks, more than that and what a key owed beyond its smaller capacity, which is forgotten', async () => {
    await histories(bucketOf, anyLimits, (asked) => {
      expect(mostAbove(asked, 1)).toBeLessThanOrEqual(0);
    });
  });
});

/**
 * Of all intervals: how many units were allowed beyond the largest capacity, what came back meanwhile, and
 * (`forgiven` times) by how much capacities shrank, from one decision to the next.
 */
function mostAbove(asked: readonly Resolution[], forgiven: number): number {
  let most = -Infinity;
  for (const [from, first] of asked.entries()) {
    let [units, capacity, shrunk, previous] = [0, 0, 0, first];
    for (const one of asked.slice(from)) {
      const { limit } = one.decision;
      if (one.version > previous.version) shrunk += Math.max(previous.decision.limit - limit, 0);
      if (one.decision.allowed) units += one.cost;
      capacity = Math.max(capacity, limit);
      most = Math.max(most, units - capacity - (one.atMs - first.atMs) / 100 - forgiven * shrunk);
      previous = one;
    }
  }
  return most;
}
