import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Acquisition,
  type Decision,
  type Escalation,
  type Limiter,
  type Policy,
  type Reservation,
} from '@sluice/old-core';
import { fakeClock, seeded, testSeed, type FakeClock, expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_MEMORY_SATURATED');

interface Rules {
  readonly policy: Policy | readonly Policy[];
  readonly escalate?: Escalation;
}

const LIMITERS: readonly (readonly [name: string, options: Rules])[] = [
  ['fixed', { policy: fixedWindow({ limit: 5, window: '1h' }) }],
  ['sliding', { policy: slidingWindow({ limit: 6, window: '100s', precision: '1s' }) }],
  ['counter', { policy: slidingCounter({ limit: 6, window: '1h' }) }],
  ['log', { policy: slidingLog({ limit: 4, window: '1h' }) }],
  ['bucket', { policy: tokenBucket({ capacity: 5, refill: 1, every: '1h', overdraft: 2 }) }],
  ['interval', { policy: tokenBucket({ capacity: 4, refill: 2, every: '1h', mode: 'interval' }) }],
  ['paced', { policy: leakyBucket({ limit: 3, window: '6h', maxDelay: '5h' }) }],
  [
    'several',
    {
      policy: [
        fixedWindow({ name: 'few', limit: 3, window: '1h' }),
        tokenBucket({ name: 'b', capacity: 6, refill: 1, every: '1h' }),
      ],
    },
  ],
  [
    'strict',
    { policy: fixedWindow({ limit: 2, window: '1h' }), escalate: escalate({ after: 3, block: '2h', decay: '1d' }) },
  ],
];

interface Side {
  readonly limiters: readonly Limiter[];
  readonly slots: Limiter;
  readonly decisions: Decision[];
  readonly reservations: Reservation[];
  readonly acquisitions: Acquisition[];
}

function side(maxKeys: number, clock: FakeClock): Side {
  const store = memoryStore({ maxKeys, clock });
  return {
    limiters: LIMITERS.map(([name, options]) => createLimiter({ name, store, ...options })),
    slots: createLimiter({ name: 'slots', policy: concurrency({ limit: 3, ttl: '1h' }), store }),
    decisions: [],
    reservations: [],
    acquisitions: [],
  };
}

type Act = (side: Side) => Promise<unknown>;

/** What both sides do next, at a key that is being denied. */
function nextAct(random: ReturnType<typeof seeded>, { decisions, reservations, acquisitions }: Side): Act {
  const number = random.integer(0, LIMITERS.length - 1);
  const key = `key-${String(random.integer(0, 9))}`;
  const cost = random.integer(1, 3);
  const dice = random.integer(0, 99);
  const some = random.integer(0, 1_000_000);
  if (dice < 40) {
    return async ({ limiters, decisions: made }) => {
      const decision = await (limiters[number] as Limiter).consume(key, cost);
      made.push(decision);
      return decision;
    };
  }
  if (dice < 50) return async ({ limiters }) => (limiters[number] as Limiter).peek(key, cost);
  if (dice < 60 && decisions.length > 0) {
    return async ({ limiters, decisions: made }) => {
      const decision = made[some % made.length] as Decision;
      const codes = limiters.map((limiter) => limiter.refund(decision).then(() => 'given', codeOf));
      return Promise.all(codes);
    };
  }
  if (dice < 65) {
    return async ({ limiters, reservations: made }) => {
      const reservation = await (limiters[number] as Limiter).reserve(key, cost);
      made.push(reservation);
      return reservation.decision;
    };
  }
  if (dice < 70 && reservations.length > 0) {
    return async ({ reservations: made }) => (made[some % made.length] as Reservation).settle(cost);
  }
  if (dice < 80) {
    return async ({ slots, acquisitions: made }) => {
      const acquisition = await slots.acquire(key, { holder: String(some) });
      made.push(acquisition);
      return acquisition.decision;
    };
  }
  if (dice < 94 && acquisitions.length > 0) {
    return async ({ acquisitions: made }) => {
      const { renew, release } = made[some % made.length] as Acquisition;
      return dice < 87 ? renew() : release();
    };
  }
  if (dice < 97) return async ({ limiters }) => (limiters[number] as Limiter).block(key, '3h');
  return async ({ limiters }) => (limiters[number] as Limiter).unblock(key);
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

describe('keys for which there is hardly any room', () => {
  it.each([1, 3, 12])('go on as in a store that has room, whatever is done with them: maxKeys %i', async (maxKeys) => {
    const seed = testSeed(maxKeys);
    const random = seeded(seed);
    const clock = fakeClock();
    const narrow = side(maxKeys, clock);
    const wide = side(100_000, clock);
    for (const { limiters, slots } of [narrow, wide]) {
      for (let i = 0; i < 10; i++) {
        for (const limiter of limiters) while ((await limiter.consume(`key-${String(i)}`)).allowed);
        await slots.acquire(`key-${String(i)}`);
      }
    }

    for (let step = 0; step < 5_000; step++) {
      const act = nextAct(random, wide);
      const [found, expected] = [await act(narrow).catch(codeOf), await act(wide).catch(codeOf)];
      if (!isDeepStrictEqual(found, expected)) expect({ seed, step, found }).toEqual({ seed, step, found: expected });
      if (random.percent(30)) clock.advance(random.integer(0, 100));
    }
  });
});
