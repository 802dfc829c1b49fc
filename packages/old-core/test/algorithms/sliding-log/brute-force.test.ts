import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore, slidingLog, type Decision, type Limiter, type Store } from '@sluice/old-core';
import { cases, fakeClock, seeded, testSeed, useRedis, virtualRedisStore, withoutFastPath } from '@sluice/testkit';
import { START_MS } from '../../traces/step.ts';
import { BruteForce } from './brute-force.ts';
import { heldUnder } from './detail.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const KEY = 'sluice:{key}:log:2l';

const limiterOn = (store: Store, limit: number, windowMs: number): Limiter =>
  createLimiter({
    name: 'log',
    policy: slidingLog({ limit, window: windowMs }),
    store,
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

const said = ({ allowed, remaining, retryAfterMs }: Decision): object => ({ allowed, remaining, retryAfterMs });

describe('a slidingLog, in memory and in Redis', () => {
  it.each(Array.from({ length: cases(8) }, (_, i) => i + 1))(
    'decides as a list of all units does, and its list in Redis holds those and nothing else: trace %i',
    async (trace) => {
      const random = seeded(testSeed(0) + trace * 1_000);
      const [limit, windowMs] = [random.integer(1, 15), random.integer(20, 400)];
      const clock = fakeClock(START_MS);
      const stores = [memoryStore({ clock }), virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0)];
      const limiters = stores.map((store) => limiterOn(store, limit, windowMs));
      const reference = new BruteForce(limit, windowMs);
      const taken: (readonly Decision[])[] = [];

      for (let step = 0; step < 250; step++) {
        clock.atMs += random.pick([
          0,
          0,
          0,
          1,
          random.integer(0, 30),
          random.integer(0, windowMs),
          -random.integer(0, 20),
        ]);
        const given = random.percent(15) ? taken.splice(random.integer(0, taken.length - 1), 1)[0] : undefined;
        if (given?.[0] !== undefined) {
          const cost = random.integer(1, given[0].cost);
          await Promise.all(limiters.map((limiter, i) => limiter.refund(given[i] as Decision, cost)));
          reference.refund(cost, given[0].atMs + given[0].resetAfterMs, clock.atMs);
        } else {
          const cost = random.pick([1, 1, 1, 2, 3, limit, limit + 1]);
          const decisions = await Promise.all(limiters.map((limiter) => limiter.consume('key', cost)));
          expect(decisions.map(said)).toEqual(Array(2).fill(reference.consume(cost, clock.atMs)));
          if (decisions[0]?.allowed === true) taken.push(decisions);
        }

        const entries = reference.entries();
        const held = await heldUnder(redis.admin, KEY);
        expect(held?.entries ?? []).toEqual(entries);
        expect(held?.units ?? 0).toBe(entries.reduce((sum, [, units]) => sum + units, 0));
        expect(entries.length).toBeLessThanOrEqual(limit);
        expect(held?.expireAtMs[1]).toBe(held?.expireAtMs[0]);
      }
    },
    60_000,
  );

  it('decides so with thousands of entries as well, whatever the clock does', async () => {
    const [limit, windowMs] = [10_000, 60_000];
    const random = seeded(testSeed(7));
    const clock = fakeClock(START_MS);
    const reference = new BruteForce(limit, windowMs);
    const memory = limiterOn(memoryStore({ clock }), limit, windowMs);
    const inRedis = limiterOn(
      withoutFastPath(virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, 0)),
      limit,
      windowMs,
    );
    let most = 0;

    for (let burst = 0; burst < 25; burst++) {
      clock.atMs += random.pick([0, random.integer(0, 4_000), -random.integer(0, 2_000)]);
      const answers: Promise<Decision>[] = [];
      const expected: object[] = [];
      // Of one tick: the instant is read, and the call sent, at once.
      for (let i = random.integer(100, 900); i > 0; i--) {
        clock.atMs += random.pick([0, 0, 1, 2, 5, 40]);
        const cost = random.percent(98) ? 1 : random.pick([2, 7, 50, 400]);
        expected.push(reference.consume(cost, clock.atMs));
        answers.push(memory.consume('key', cost), inRedis.consume('key', cost));
      }
      const decisions = await Promise.all(answers);

      expect(decisions.filter((_, i) => i % 2 === 0).map(said)).toEqual(expected);
      expect(decisions.filter((_, i) => i % 2 === 1).map(said)).toEqual(expected);
      const held = await heldUnder(redis.admin, KEY);
      expect(held?.entries).toEqual(reference.entries());
      most = Math.max(most, held?.entries.length ?? 0);
    }

    expect(most).toBeGreaterThan(1_000);
  }, 120_000);
});
