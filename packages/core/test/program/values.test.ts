import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import type { StoreError } from '../../src/errors.ts';
import { compile, type Policy } from '../../src/policies/index.ts';
import { RESET_AFTER, USED } from '../../src/program/decide.ts';
import type { Held } from '../../src/stores/perform.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import type { Answer, Ask } from '../../src/stores/store.ts';
import { readText, writeText } from '../../src/stores/text.ts';
import { everyPolicy } from './any-policy.ts';
import { clockedRedis, key, ProgramStore, START as NOW } from './stores.ts';

const redis = useRedis();
const KEY = key('value');
const STORED = `sluice:${KEY}`;
const policies = everyPolicy(5, 60_000);
const { fixedWindow: fixed, slidingWindow: sliding, slidingCounter: counter, slidingLog: log } = policies;
const { tokenBucket: bucket, intervalBucket: interval } = policies;
const ask = { key: KEY, policy: fixed, cost: 1 };

beforeEach(() => redis.admin.flushall());

const BY_KIND = Object.fromEntries(Object.values(policies).map((policy) => [compile(policy).kind, policy]));

/** What a policy writes for its first unit. */
function stateOf(policy: Policy): string {
  const store = new ProgramStore();
  store.ask('take', policy, 1, { holder: 8 });
  return writeText(store.keys.get('one') as Held).slice(2);
}

/** What a take answers that finds this value, and what it leaves: in memory, in the script of its family, in that of all. */
async function inEveryStore(taking: Ask, value: string): Promise<[answer: unknown, after: unknown][]> {
  const memory = new ProgramStore();
  const beside = { key: key('beside'), policy: taking.policy.algorithm === 'fixedWindow' ? bucket : fixed, cost: 1 };
  const inMemory = (): Answer => {
    memory.keys.set(KEY, readText(KEY, value));
    return memory.perform('take', [taking]);
  };
  const inRedis = async (...asks: readonly Ask[]): Promise<Answer> => {
    const store = clockedRedis(redis.client);
    await redis.admin.set(STORED, value);
    const [answer] = await Promise.all(asks.map(async (one) => store.perform('take', [one])));
    return answer as Answer;
  };
  const found: [unknown, unknown][] = [];
  for (const [take, read] of [
    [inMemory, () => (memory.keys.has(KEY) ? writeText(memory.keys.get(KEY) as Held) : value)],
    [() => inRedis(taking), () => redis.admin.get(STORED)],
    [() => inRedis(taking, beside), () => redis.admin.get(STORED)],
  ] as const) {
    const answer = async (): Promise<unknown> => (await take()).figures[0];
    found.push([await answer().catch((error: unknown) => (error as StoreError).code), await read()]);
  }
  return found;
}

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
    ['words where the script answers figures', log, 'hello'],
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

  it.each(Object.keys(BY_KIND))(
    'of the kind %s counts as none for every other kind and keeps its block, or is no state, in every store',
    async (kind) => {
      const state = stateOf(BY_KIND[kind] as Policy);
      const blocked = `${kind}1-${String(NOW + 500)},${state}`;
      for (const [reader, policy] of Object.entries(BY_KIND)) {
        if (reader === kind) continue;
        const taking = { key: KEY, policy, cost: 1, holder: 8 };

        const found = await inEveryStore(taking, `${kind}1${state}`);
        expect(new Set(found.map((one) => JSON.stringify(one))).size).toBe(1);
        expect(found[0]).toEqual([expect.arrayContaining([1]), `${reader}1${stateOf(policy)}`]);

        for (const [, after] of await inEveryStore(taking, blocked)) expect(after).toBe(blocked);
        for (const one of await inEveryStore(taking, `${kind}15`))
          expect(one).toEqual(['SLUICE_STORE_KEY_FOREIGN', `${kind}15`]);
      }
    },
  );

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

  it.each(Object.entries(policies))(
    'lives for half a minute to a minute after its state has ended: %s',
    async (_, policy) => {
      const store = redisStore(redis.client, { prefix: 'sluice' });
      await store.perform('take', [{ ...ask, policy, holder: 1 }]);
      const { atMs, figures } = await store.perform('take', [{ ...ask, policy, cost: 4, holder: 2 }]);

      const keptMs = (await redis.admin.pexpiretime(STORED)) - (atMs + (figures[0]?.[RESET_AFTER] ?? 0));

      expect(keptMs).toBeGreaterThan(30_000);
      expect(keptMs).toBeLessThanOrEqual(60_000);
    },
  );
});
