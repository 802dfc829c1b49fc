import { isDeepStrictEqual } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  createLimiter,
  escalate,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type MemoryStore,
  type Policy,
  type Reservation,
} from '@sluice/old-core';
import {
  fakeClock,
  seeded,
  testSeed,
  type FakeClock,
  withoutFastPath,
  type Random,
  expectWarnings,
} from '@sluice/testkit';

expectWarnings('SLUICE_MEMORY_SATURATED');

interface Path {
  readonly held: MemoryStore;
  readonly limiters: readonly Limiter[];
  readonly decisions: Decision[];
  readonly reservations: Reservation[];
  /** How many requests the store decided by the shorter way. */
  readonly served: () => number;
}

const POLICIES: readonly (readonly [name: string, policy: Policy | readonly Policy[]])[] = [
  ['first-hit', fixedWindow({ limit: 5, window: '10s' })],
  ['clock', fixedWindow({ limit: 3, window: '7s', align: 'clock' })],
  ['sliding', slidingWindow({ limit: 6, window: '10s' })],
  ['counter', slidingCounter({ limit: 6, window: '5s' })],
  ['log', slidingLog({ limit: 4, window: '9s' })],
  ['bucket', tokenBucket({ capacity: 5, refill: 3, every: '7s', overdraft: 2 })],
  ['interval', tokenBucket({ capacity: 4, refill: 2, every: '3s', mode: 'interval' })],
  ['paced', leakyBucket({ limit: 3, window: '6s', maxDelay: '5s' })],
  [
    'several',
    [
      fixedWindow({ name: 'few', limit: 3, window: '5s' }),
      tokenBucket({ name: 'b', capacity: 6, refill: 1, every: '1s' }),
    ],
  ],
];

/** One limiter per policy, another one of the same name and numbers, one with other numbers, and one that escalates. */
function limiterOf(maxKeys: number, clock: FakeClock, isFast: boolean): Path {
  const held = memoryStore({ maxKeys, clock });
  const bring = held.fast.bind(held);
  let decided = 0;
  held.fast = ({ receipts, ...host }) =>
    bring({
      ...host,
      receipts: {
        writeLazily: (...given) => {
          decided++;
          receipts.writeLazily(...given);
        },
      },
    });
  const store = isFast ? held : withoutFastPath(held);
  const limiters = [
    ...POLICIES.map(([name, policy]) => createLimiter({ name, policy, store, shared: true })),
    createLimiter({ name: 'first-hit', policy: fixedWindow({ limit: 5, window: '10s' }), store, shared: true }),
    createLimiter({ name: 'sliding', policy: slidingWindow({ limit: 4, window: '3s' }), store, shared: true }),
    createLimiter({
      name: 'strict',
      policy: fixedWindow({ limit: 2, window: '4s' }),
      escalate: escalate({ after: 2, block: '3s', decay: '20s' }),
      store,
    }),
  ];
  const served = (): number => decided;
  return { held, limiters, decisions: [], reservations: [], served };
}

type Act = (path: Path) => Promise<unknown>;

function consume(number: number, key: string, cost: number): Act {
  return async ({ limiters, decisions }) => {
    const decision = await (limiters[number] as Limiter).consume(key, cost);
    decisions.push(decision);
    return decision;
  };
}

/** What both lanes do next. */
function nextAct(random: Random, taken: number, reserved: number): Act {
  const number = random.integer(0, POLICIES.length + 2);
  const key = `key-${String(random.integer(0, 11))}`;
  const dice = random.integer(0, 99);
  if (dice < 62) return consume(number, key, random.percent(70) ? 1 : random.integer(0, 7));
  if (dice < 70) {
    const cost = random.integer(0, 3);
    return async ({ limiters }) => (limiters[number] as Limiter).peek(key, cost);
  }
  if (dice < 82 && taken > 0) {
    const which = random.integer(Math.max(taken - 20, 0), taken - 1);
    return async ({ limiters, decisions }) => {
      const decision = decisions[which] as Decision;
      return Promise.all(limiters.map(async (limiter) => limiter.refund(decision).then(() => 'given', codeOf)));
    };
  }
  if (dice < 86) {
    const estimate = random.integer(1, 3);
    return async ({ limiters, reservations }) => {
      const reservation = await (limiters[number] as Limiter).reserve(key, estimate);
      reservations.push(reservation);
      return reservation.decision;
    };
  }
  if (dice < 90 && reserved > 0) {
    const which = random.integer(0, reserved - 1);
    const actual = random.integer(0, 6);
    return async ({ reservations }) => (reservations[which] as Reservation).settle(actual);
  }
  if (dice < 94) return async ({ limiters }) => (limiters[number] as Limiter).reset(key);
  if (dice < 97) {
    const durationMs = random.integer(1, 9_000);
    return async ({ limiters }) => (limiters[number] as Limiter).block(key, durationMs);
  }
  return async ({ limiters }) => (limiters[number] as Limiter).unblock(key);
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

function move(random: Random, clock: FakeClock): void {
  if (random.percent(55)) clock.advance(random.integer(0, 400));
  else if (random.percent(6)) clock.advance(random.integer(3_000, 90_000));
  else if (random.percent(4)) clock.advance(-random.integer(1, 5_000));
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('requests that go by the fast path', () => {
  it.each([
    ['with room for all keys', 1_000, 6_000],
    ['with keys that push each other out', 60, 6_000],
    ['with hardly any room', 16, 6_000],
    ['with room for one', 1, 1_500],
  ])('are decided as in the general way, and leave the same behind: %s', async (_how, maxKeys, steps) => {
    const seed = testSeed(0) + maxKeys;
    const random = seeded(seed);
    const clock = fakeClock();
    const fast = limiterOf(maxKeys, clock, true);
    const general = limiterOf(maxKeys, clock, false);
    const seen = new Map<string, number>();

    for (let step = 0; step < steps; step++) {
      const act = nextAct(random, fast.decisions.length, fast.reservations.length);
      const quickly = await act(fast).catch(codeOf);
      const slowly = await act(general).catch(codeOf);
      const places = [fast.held.size, general.held.size];
      if (!isDeepStrictEqual(quickly, slowly) || places[0] !== places[1]) {
        expect({ seed, step, quickly, places: places[0] }).toEqual({ seed, step, quickly: slowly, places: places[1] });
      }
      const outcome = (quickly as Partial<Decision> | undefined)?.outcome ?? 'other';
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      move(random, clock);
    }

    for (const outcome of ['allowed', 'denied', 'blocked', 'other']) {
      expect(seen.get(outcome) ?? 0).toBeGreaterThan(0);
    }
    expect(fast.served()).toBeGreaterThan(steps / 10);
  });
});

describe('a decision of the fast path', () => {
  const policy = fixedWindow({ limit: 3, window: '1m', name: 'window' });

  it('is a plain object of the fields it shows', async () => {
    const decision = await createLimiter({ policy, store: memoryStore({ clock: () => 1_000 }) }).consume('key');

    expect(Object.getPrototypeOf(decision)).toBe(Object.prototype);
    expect(Reflect.ownKeys(decision).sort()).toEqual(Object.keys({ ...decision }).sort());
    expect(isDeepStrictEqual(decision, { ...decision })).toBe(true);
    expect(JSON.parse(JSON.stringify(decision))).toStrictEqual(decision);
  });

  it('is not made for an object that has the store as its prototype: its own perform decides', async () => {
    const inner = memoryStore();
    const asked: string[] = [];
    const store = Object.assign(Object.create(inner) as MemoryStore, {
      perform: (requests: Parameters<MemoryStore['perform']>[0]) => {
        asked.push(...requests.map(({ op }) => op));
        return inner.perform(requests);
      },
    });

    expect((await createLimiter({ policy, store }).consume('key')).remaining).toBe(2);
    expect(asked).toEqual(['consume']);
  });

  it('is given back itself, once, and a copy of it never', async () => {
    const limiter = createLimiter({ policy });
    const decision = await limiter.consume('key', 2);

    await expect(limiter.refund({ ...decision })).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
    await expect(createLimiter({ policy }).refund(decision)).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
    await limiter.refund(decision);
    await limiter.refund(decision);

    expect((await limiter.peek('key')).remaining).toBe(3);
  });
});
