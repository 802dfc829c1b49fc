import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { BLOCK, CHARGE, GIVE, PEEK, RENEW, TAKE, USED } from '../../src/program/decide.ts';
import { ProgramInMemory } from './memory.ts';
import { plan } from './plans.ts';
import { fixedWindow, slidingWindow, tokenBucket } from './policies.ts';
import { performInRedis } from './redis.ts';

const redis = useRedis();
const KEY = 'sluice:value';
const NOW = 1_900_000_000_000;
const fixed = plan(fixedWindow({ limit: 5, window: '1m' }));
const sliding = plan(slidingWindow({ limit: 5, window: '1m' }));
const bucket = plan(tokenBucket({ capacity: 5, refill: 1, every: '1s' }));

beforeEach(() => redis.admin.flushall());

describe('a value', () => {
  it.each([
    ['words', fixed, 'hello'],
    ['a number alone', fixed, '5'],
    ['a letter of no kind', fixed, 'z11900000000000,60000,1,5'],
    ['another format', fixed, 'f21900000000000,60000,1,5'],
    ['too few numbers', fixed, 'f11900000000000,60000'],
    ['too many numbers', fixed, 'f11900000000000,60000,1,5,1'],
    ['a negative count', fixed, 'f11900000000000,60000,-9,5'],
    ['a negative start and a negative count', bucket, 't1-1,-1,1,1'],
    ['a negative start after a block', bucket, 't1-1,-1,1,1,1'],
    ['thousands of blocks', sliding, `s11900000000000,6000,0,5,60000,0${',1'.repeat(9_000)}`],
    ['a fraction', fixed, 'f11900000000000,60000,0.5,5'],
    ['an exponent', fixed, 'f11900000000000,60000,1e3,5'],
    ['a number without end', fixed, 'f11900000000000,60000,99999999999999999999,5'],
    ['a comma too many', fixed, 'f11900000000000,,60000,1,5'],
    ['lines', fixed, 'f11900000000000,60000,1,5\n2\n3'],
    ['brackets', fixed, 'f1[1900000000000],60000,1,5'],
    ['a debt without a rate', bucket, 't11900000000000,5,1,0'],
    ['a block that ends before it begins', sliding, 's11900000000000,0,0,5,60000'],
    ['too many units in a block', sliding, 's11900000000000,6000,0,9007199254740993,60000'],
  ])('with %s is no state: its request has no answer, and it stays', async (_, policy, value) => {
    await redis.admin.set(KEY, value);

    const answers = await performInRedis(
      redis.client,
      [
        { op: TAKE, asks: [{ key: KEY, plan: policy, cost: 1 }] },
        { op: TAKE, asks: [{ key: 'sluice:other', plan: policy, cost: 1 }] },
      ],
      NOW,
    );

    expect(answers).toEqual([undefined, { atMs: NOW, figures: [expect.arrayContaining([1, 4, 1])] }]);
    expect(await redis.admin.get(KEY)).toBe(value);
  });

  it('of another type of Redis is no state', async () => {
    await redis.admin.lpush(KEY, '1');

    const [answer] = await performInRedis(
      redis.client,
      [{ op: TAKE, asks: [{ key: KEY, plan: fixed, cost: 1 }] }],
      NOW,
    );

    expect(answer).toBeUndefined();
    expect(await redis.admin.type(KEY)).toBe('list');
  });

  it('of another kind counts as none, and keeps its block', async () => {
    await redis.admin.set(KEY, `t1-${String(NOW + 500)},${String(NOW)},5000,1000,1`);

    const [answer] = await performInRedis(
      redis.client,
      [{ op: TAKE, asks: [{ key: KEY, plan: fixed, cost: 1 }] }],
      NOW,
    );

    expect(answer?.figures).toEqual([[0, 0, 0, 500, 500, 500, 0, 500]]);
  });

  it.each([
    ['a refund', GIVE, 1],
    ['a later charge', CHARGE, 1],
    ['an end of its block', BLOCK, 0],
    ['a renewal', RENEW, 0],
  ])('of another kind survives %s that finds nothing of its own', async (_, op, until) => {
    const took = { op: TAKE, asks: [{ key: KEY, plan: bucket, cost: 5 }] };
    const edit = { op, asks: [{ key: KEY, plan: fixed, cost: op === BLOCK ? 0 : 1, until, holder: 0 }] };
    const memory = new ProgramInMemory();
    memory.atMs = NOW;

    await performInRedis(redis.client, [took], NOW);
    await performInRedis(redis.client, [edit], NOW);
    for (const { op: own, asks } of [took, edit]) memory.perform(own, asks);
    const peek = [{ key: KEY, plan: bucket, cost: 1 }];
    const [there] = await performInRedis(redis.client, [{ op: PEEK, asks: peek }], NOW);

    expect(there?.figures[0]?.[USED]).toBe(5);
    expect(memory.perform(PEEK, peek)).toEqual(there);
  });

  it('lives for half a minute to a minute after its state has ended', async () => {
    const [answer] = await performInRedis(redis.client, [{ op: TAKE, asks: [{ key: KEY, plan: fixed, cost: 1 }] }]);
    const endsAtMs = (answer?.atMs ?? 0) + 60_000;

    const expiresAtMs = await redis.admin.pexpiretime(KEY);

    expect(expiresAtMs - endsAtMs).toBeGreaterThan(30_000);
    expect(expiresAtMs - endsAtMs).toBeLessThanOrEqual(60_000);
  });
});
