import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { USED } from '../../src/program/decide.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { clockedRedis, key, ProgramStore, START as NOW } from './stores.ts';

const redis = useRedis();
const KEY = key('value');
const STORED = `sluice:${KEY}`;
const fixed = fixedWindow({ limit: 5, window: '1m' });
const sliding = slidingWindow({ limit: 5, window: '1m' });
const counter = slidingCounter({ limit: 5, window: '1m' });
const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1s' });
const interval = tokenBucket({ capacity: 5, refill: 1, every: '1s', mode: 'interval' });
const ask = { key: KEY, policy: fixed, cost: 1 };

beforeEach(() => redis.admin.flushall());

describe('a value', () => {
  it.each([
    ['words', fixed, 'hello'],
    ['a number alone', fixed, '5'],
    ['a letter of no kind', fixed, 'z11900000000000,60000,1,5'],
    ['another format', fixed, 'f21900000000000,60000,1,5'],
    ['too few numbers', fixed, 'f11900000000000,60000,1'],
    ['too many numbers', fixed, 'f11900000000000,60000,1,5,1'],
    ['a window beside it that is longer', fixed, 'f11900000000000,60000,1,5,1900000000000,60001,1'],
    ['a negative count', fixed, 'f11900000000000,60000,-9,5'],
    ['a negative start and a negative count', bucket, 't1-1,-1,1,1'],
    ['a negative start after a block', bucket, 't1-1,-1,1,1,1'],
    ['a bucket that is refilled at intervals in more than 2^52 ms', interval, 'i11900000000000,4503599627370496,1,9'],
    ['a count that cannot be weighted exactly', counter, 'c11900000000000,4398046511104,4096,0,9'],
    ['thousands of blocks', sliding, `s11900000000000,6000,0,5,60000,5${',1'.repeat(9_000)}`],
    ['a fraction', fixed, 'f11900000000000,60000,0.5,5'],
    ['an exponent', fixed, 'f11900000000000,60000,1e3,5'],
    ['a number without end', fixed, 'f11900000000000,60000,99999999999999999999,5'],
    ['a comma too many', fixed, 'f11900000000000,60000,1,5,'],
    ['two commas', fixed, 'f11900000000000,,60000,1,5'],
    ['a sign alone', fixed, 'f1-,60000,1,5'],
    ['lines', fixed, 'f11900000000000,60000,1,5\n2\n3'],
    ['brackets', fixed, 'f1[1900000000000],60000,1,5'],
    ['a debt without a rate', bucket, 't11900000000000,5,1,0'],
    ['a block that ends before it begins', sliding, 's11900000000000,0,0,5,60000,5'],
    ['words where the script answers figures', slidingLog({ limit: 5, window: '1m' }), 'hello'],
    ['spaces', fixed, 'f1 1900000000000,60000,1,5'],
    ['a block without end', fixed, 'f1-99999999999999999999'],
    ['too many units in a block', sliding, 's11900000000000,6000,0,9007199254740993,60000,5'],
  ])('with %s is no state: its request fails alone, and it stays', async (_, policy, value) => {
    const store = clockedRedis(redis.client);
    await redis.admin.set(STORED, value);

    const decided = [
      { ...ask, policy },
      { ...ask, key: key('other') },
    ].map((one) => store.perform('take', [one]));
    const [foreign, other] = await Promise.allSettled(decided);

    expect(foreign).toMatchObject({ status: 'rejected', reason: { code: 'SLUICE_STORE_KEY_FOREIGN' } });
    expect(other).toMatchObject({ status: 'fulfilled', value: { figures: [expect.arrayContaining([1, 4, 1])] } });
    expect(await redis.admin.get(STORED)).toBe(value);
  });

  it('of another type of Redis is no state', async () => {
    await redis.admin.lpush(STORED, '1');

    await expect(clockedRedis(redis.client).perform('take', [ask])).rejects.toMatchObject({
      code: 'SLUICE_STORE_KEY_FOREIGN',
    });

    expect(await redis.admin.type(STORED)).toBe('list');
  });

  it('of another kind counts as none, and keeps its block', async () => {
    await redis.admin.set(STORED, `t1-${String(NOW + 500)},${String(NOW)},5000,1000,1`);

    const { figures } = await clockedRedis(redis.client).perform('take', [ask]);

    expect(figures).toEqual([[0, 0, 0, 500, 500, 500, 0, 500]]);
  });

  it.each([
    ['a refund', 'give', 1, 1],
    ['a later charge', 'charge', 1, 1],
    ['an end of its block', 'block', 0, 0],
    ['a renewal', 'renew', 1, 0],
  ] as const)('of another kind survives %s that finds nothing of its own', async (_, op, cost, until) => {
    for (const store of [clockedRedis(redis.client), new ProgramStore()]) {
      await store.perform('take', [{ ...ask, policy: bucket, cost: 5 }]);
      await store.perform(op, [{ ...ask, cost, until }]);

      const { figures } = await store.perform('peek', [{ ...ask, policy: bucket }]);

      expect(figures[0]?.[USED]).toBe(5);
    }
  });

  it.each([
    ['half a minute to a minute', fixed],
    ['half a minute to a minute, whatever its precision,', sliding],
  ])('lives for %s after its state has ended', async (_, policy) => {
    const store = redisStore(redis.client, { prefix: 'sluice' });
    const { atMs } = await store.perform('take', [{ ...ask, policy }]);

    const keptMs = (await redis.admin.pexpiretime(STORED)) - (atMs + 60_000);

    expect(keptMs).toBeGreaterThan(30_000);
    expect(keptMs).toBeLessThanOrEqual(60_000);
  });
});
