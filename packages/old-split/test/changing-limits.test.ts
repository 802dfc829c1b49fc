import { describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type CarryOver,
  type Limit,
  type Policy,
  type Store,
} from '@sluice/old-core';
import { encodeSubject, namePolicies, sourceKeySuffix, type LocalClocks } from '@sluice/old-core/spi';
import { fixedMembership, type SplitStore } from '@sluice/old-split';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { createSplitStore } from '../src/split-store.ts';

/** A whole second, so that windows begin as people expect. */
const START_MS = 1_795_262_400_000;
const WINDOW_MS = 1000;

class Clock implements LocalClocks {
  nowMs = START_MS;
  monotonicMs(): number {
    return this.nowMs - START_MS;
  }
  dateMs(): number {
    return this.nowMs;
  }
}

const window = (limit: number): Policy => fixedWindow({ limit, window: '1s', align: 'clock' });

/** The versions of a limit of a source, from 1 on. */
function versionsOf(policies: readonly Policy[], carryOver: CarryOver = 'keep'): readonly Limit[] {
  const named = policies.map((policy) => namePolicies(policy, 'orders'));
  return named.map((own, i) => ({
    policies: own,
    keySuffix: sourceKeySuffix('orders'),
    policyVersion: {
      version: i + 1,
      earlier: new Map(named.slice(0, i).map((before, j) => [j + 1, { policies: before, carryOver }])),
    },
  }));
}

const part = (limit: Limit | undefined, key = 'ann', cost = 1) => ({
  limit: limit as Limit,
  subject: encodeSubject(key),
  cost,
});

function isAllowed(store: Store, limit: Limit | undefined, key?: string, cost?: number): boolean {
  const [answer] = store.perform([{ op: 'consume', parts: [part(limit, key, cost)] }]) as ReturnType<
    SplitStore['perform']
  >;
  return answer?.parts[0]?.policies[0]?.allowed === true;
}

/** Takes one unit after the other until it is denied. */
function grab(store: Store, limit: Limit | undefined, key?: string): number {
  let allowed = 0;
  while (isAllowed(store, limit, key)) allowed++;
  return allowed;
}

function storesOf(instances: number): { clock: Clock; stores: readonly SplitStore[] } {
  const clock = new Clock();
  const stores = Array.from({ length: instances }, (_, index) =>
    createSplitStore({ membership: fixedMembership({ instances, index }) }, clock),
  );
  return { clock, stores };
}

describe('a limit that changes, split over two instances', () => {
  it('that is raised counts from the next window on, for a key that has used units', () => {
    const { clock, stores } = storesOf(2);
    const [before, raised] = versionsOf([window(10), window(20)]);
    const [store] = stores as [SplitStore];
    isAllowed(store, before);

    expect(grab(store, raised)).toBe(4);
    clock.nowMs += WINDOW_MS;
    expect(grab(store, raised)).toBe(10);
  });

  it('that is cut counts at once, with the units used', () => {
    const { stores } = storesOf(2);
    const [before, cut] = versionsOf([window(20), window(10)]);
    const [store] = stores as [SplitStore];
    for (let i = 0; i < 3; i++) isAllowed(store, before);

    expect(grab(store, cut)).toBe(2);
  });

  it('has shares that are rounded down', () => {
    const { stores } = storesOf(3);
    const [limit] = versionsOf([window(11)]);

    expect(stores.map((store) => grab(store, limit))).toEqual([3, 3, 3]);
  });

  it.each([
    ['sliding windows', slidingWindow({ limit: 10, window: '1s' }), slidingWindow({ limit: 20, window: '1s' })],
    [
      'buckets',
      tokenBucket({ capacity: 10, refill: 1, every: '1h' }),
      tokenBucket({ capacity: 20, refill: 1, every: '1h' }),
    ],
  ])('counts at once in %s, which have no boundary, and used units stay used', (_name, before, after) => {
    const { stores } = storesOf(2);
    const [first, second, third] = versionsOf([before, after, before]);
    const [store] = stores as [SplitStore];
    for (let i = 0; i < 4; i++) isAllowed(store, first);

    expect(grab(store, second)).toBe(6);
    expect(grab(store, third)).toBe(0);
  });

  it('may become one of another kind or window, with the units used', () => {
    const { stores } = storesOf(2);
    const [first, second, third] = versionsOf([
      window(10),
      tokenBucket({ capacity: 20, refill: 1, every: '1h' }),
      fixedWindow({ limit: 40, window: '1m', align: 'clock' }),
    ]);
    const [store] = stores as [SplitStore];
    for (let i = 0; i < 3; i++) isAllowed(store, first);

    expect(grab(store, second)).toBe(7);
    expect(grab(store, third)).toBe(10);
  });

  it.each([
    ['window', window(10)],
    ['bucket', tokenBucket({ capacity: 10, refill: 1, every: '1h' })],
  ])('forgets units with carryOver "reset", also of a %s whose numbers stay', (_name, policy) => {
    const { stores } = storesOf(2);
    const [first, second] = versionsOf([policy, policy], 'reset');
    const [store] = stores as [SplitStore];
    const used = grab(store, first);

    expect([used, grab(store, second)]).toEqual([5, 5]);
  });

  it('takes a refund of a decision from before the change, and none from before a reset', () => {
    for (const [carryOver, left] of [
      ['keep', 3],
      ['reset', 0],
    ] as const) {
      const { clock, stores } = storesOf(1);
      const [first, second] = versionsOf([window(10), window(10)], carryOver);
      const [store] = stores as [SplitStore];
      isAllowed(store, first, 'ann', 5);
      grab(store, second);
      const chargedUntilMs = [clock.nowMs + WINDOW_MS];
      store.perform([{ op: 'refund', part: part(first, 'ann', 3), chargedUntilMs }]);

      expect({ carryOver, left: grab(store, second) }).toEqual({ carryOver, left });
    }
  });

  it('has, at one time, other numbers for some keys', () => {
    const { stores } = storesOf(2);
    const [usual] = versionsOf([window(10)]);
    const [own] = versionsOf([window(100)]);
    const [store] = stores as [SplitStore];

    expect([grab(store, usual), grab(store, own, 'bob'), grab(store, usual, 'cid')]).toEqual([5, 50, 5]);
  });
});

describe('instances that hear of changes at different times', () => {
  /** A longer search: SLUICE_WORLDS=2000 SLUICE_SEED=... */
  const SEED = testSeed(1);
  const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(200));

  it('allow in no window more than the largest limit that any of them knew in it', () => {
    const broken = Array.from({ length: WORLDS }, (_, i) => SEED + i).filter((seed) => excessOf(seed).length > 0);

    expect(broken).toEqual([]);
  });

  function excessOf(seed: number): readonly number[] {
    const random = seeded(seed);
    const { clock, stores } = storesOf(random.integer(1, 7));
    const limits = versionsOf(Array.from({ length: 8 }, () => window(random.integer(1, 40))));
    const known = stores.map(() => 0);
    const windows = new Map<number, { allowed: number; most: number }>();
    for (let step = 0; step < 200; step++) {
      clock.nowMs += random.integer(1, 90);
      const newest = Math.min(Math.floor(step / 25), limits.length - 1);
      stores.forEach((store, i) => {
        if (random.percent(20)) known[i] = newest;
        const limit = limits[known[i] ?? 0] as Limit;
        const index = Math.floor(clock.nowMs / WINDOW_MS);
        const counted = windows.get(index) ?? { allowed: 0, most: 0 };
        windows.set(index, counted);
        counted.most = Math.max(
          counted.most,
          (limit.policies[0]?.policy as { limit?: number } | undefined)?.limit ?? 0,
        );
        for (let asked = random.integer(0, 10); asked > 0; asked--) if (isAllowed(store, limit)) counted.allowed++;
      });
    }
    return [...windows.values()].filter(({ allowed, most }) => allowed > most).map(({ allowed }) => allowed);
  }
});
