import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingLog,
  type Decision,
  type Limiter,
  type SingleLimiterOptions,
} from '@sluice/old-core';
import { startRedis, until, useRedis } from '@sluice/testkit';
import { watchedClient, type WatchedClient } from './watched-client.ts';

const redis = useRedis();
let client: WatchedClient;
const limiters: Limiter[] = [];
beforeEach(async () => {
  await redis.admin.flushall();
  client = watchedClient(redis.client);
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

const LIMIT = 1_000_000;
const window = fixedWindow({ limit: LIMIT, window: '1h' });
const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;

function limiterOf(options: Partial<SingleLimiterOptions> = {}): Limiter {
  const all = {
    policy: window,
    store: redisStore(client, { prefix: 'sluice' }),
    ...strict,
    ...options,
  } as SingleLimiterOptions;
  const limiter = createLimiter(all);
  limiters.push(limiter);
  return limiter;
}

/** What became of each: units left, or the code of its error. */
async function outcomes(asked: readonly Promise<Decision>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((one) =>
    one.status === 'fulfilled' ? one.value.remaining : (one.reason as { code: string }).code,
  );
}

describe('an unreadable key in the middle of a batch', () => {
  it.each([
    ['garbage', () => redis.admin.set('sluice:{bad}:default:2f', 'garbage')],
    ['a block that is none', () => redis.admin.set('sluice:{bad}:default:2f', '!x!4102444800000000001')],
    ['a list', () => redis.admin.lpush('sluice:{bad}:default:2f', 'one')],
  ])('fails its own requests alone: %s', async (_what, put) => {
    const limiter = limiterOf();
    await put();
    const before = await redis.admin.dumpBuffer('sluice:{bad}:default:2f');

    const got = await outcomes(['ann', 'bad', 'ben', 'bad', 'ann', 'cat'].map((key, i) => limiter.consume(key, i + 1)));

    const foreign = 'SLUICE_STORE_KEY_FOREIGN';
    expect(client.sent.filter(({ how }) => how === 'evalsha')).toHaveLength(1);
    expect(got).toEqual([LIMIT - 1, foreign, LIMIT - 3, foreign, LIMIT - 6, LIMIT - 6]);
    expect(await outcomes(['ann', 'ben', 'cat'].map((key) => limiter.peek(key)))).toEqual([
      LIMIT - 6,
      LIMIT - 3,
      LIMIT - 6,
    ]);
    expect(await redis.admin.dumpBuffer('sluice:{bad}:default:2f')).toEqual(before);
  });
});

describe('a key of several policies', () => {
  const both = [
    fixedWindow({ name: 'hourly', limit: LIMIT, window: '1h' }),
    fixedWindow({ name: 'daily', limit: LIMIT, window: '1d' }),
  ];
  const state = '4102444800000000001';

  it.each([
    ['of more policies', `${state} ${state} ${state}`],
    ['of fewer', state],
    ['and a space', `${state} ${state} `],
  ])('is unreadable, and is left alone, where it holds states %s', async (_what, value) => {
    const limiter = limiterOf({ policy: both });
    await limiter.consume('bad');
    const [key] = await redis.admin.keys('sluice:{bad}*');
    await redis.admin.set(key as string, value);

    const got = await outcomes([limiter.consume('ann'), limiter.consume('bad'), limiter.consume('ben', 2)]);

    expect(got).toEqual([LIMIT - 1, 'SLUICE_STORE_KEY_FOREIGN', LIMIT - 2]);
    expect(await redis.admin.get(key as string)).toBe(value);
  });
});

describe('a value that no limiter wrote, whatever it says', () => {
  const several = [
    { ...window, name: 'one' },
    { ...window, name: 'two' },
  ];
  const values = [
    'garbage',
    '-NOPERM this user has no permissions to run this command',
    'two\nlines',
    '!4102444800000!garbage',
    '!4102444800000!two\nlines',
    '^99999999999999999999:1:4102444800000^',
    '  ',
  ];

  describe.each([
    ['one policy', window, '2f'],
    ['several policies', several, '2f.one,f.two'],
  ])('under %s', (_what, policy, schema) => {
    it.each(values)('fails its own requests alone, also those that are denied before it is read: %j', async (value) => {
      const limiter = limiterOf({ policy: policy as SingleLimiterOptions['policy'] & {} });
      await redis.admin.set(`sluice:{bad}:default:${schema}`, value);

      const got = await outcomes([
        limiter.consume('ann'),
        limiter.consume('bad', LIMIT + 1),
        limiter.consume('ben'),
        limiter.consume('bad', LIMIT + 1),
        limiter.consume('cat'),
      ]);
      const gotOne = await outcomes([limiter.consume('ann'), limiter.consume('bad'), limiter.consume('ben')]);

      const foreign = 'SLUICE_STORE_KEY_FOREIGN';
      expect(got).toEqual([LIMIT - 1, foreign, LIMIT - 1, foreign, LIMIT - 1]);
      expect(gotOne).toEqual([LIMIT - 2, foreign, LIMIT - 2]);
      expect(await redis.admin.get(`sluice:{bad}:default:${schema}`)).toBe(value);
    });
  });
});

describe('a server that forgets its scripts again and again', () => {
  it.each([
    ['plain limits', window],
    ['limits with long states', slidingLog({ limit: 20_000, window: '1h' })],
  ])('neither loses nor doubles any of many requests: %s', async (_what, policy) => {
    const limiter = limiterOf({ policy });
    const keys = ['ann', 'ben', 'cat', 'dan', 'eve'];
    const turns: Promise<Decision[]>[] = [];

    for (let turn = 0; turn < 60; turn++) {
      if (turn % 3 === 0) void redis.admin.script('FLUSH');
      turns.push(Promise.all(Array.from({ length: 40 }, (_, i) => limiter.consume(keys[i % 5] as string))));
      if (turn % 4 === 0) await turns.at(-1);
      else await new Promise(setImmediate);
    }
    const decisions = (await Promise.all(turns)).flat();

    const all = decisions[0]?.limit ?? 0;
    const left = decisions.map(({ remaining }) => remaining);
    expect(client.sent.some(({ how }) => how === 'eval')).toBe(true);
    expect(decisions.every(({ allowed, source }) => allowed && source === 'redis')).toBe(true);
    // Each key was counted down by one, 480 times, and no request was told what another was told.
    const expected = keys.flatMap(() => Array.from({ length: 480 }, (_, i) => all - 1 - i));
    expect(left.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
    for (const key of keys) expect((await limiter.peek(key)).remaining).toBe(all - 480);
  });
});

describe('a server that is killed under load and comes back with what it had', () => {
  it('has counted each request once that was answered, none twice, and all are settled', async () => {
    const server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const store = redisStore(server.storeUrl, { prefix: 'sluice', breaker: false });
    const limiter = limiterOf({ store, timeoutMs: 2_000 });
    try {
      await store.ready();
      const asked: Promise<Decision>[] = [];
      let hasEnded = false;
      const load = (async () => {
        while (!hasEnded) {
          for (let i = 0; i < 50; i++) asked.push(limiter.consume('ann'));
          await Promise.allSettled(asked.slice(-50));
          await sleep(2); // where nothing answers, all fail at once
        }
      })();
      await until('some were decided', () => asked.length > 500);
      for (let i = 0; i < 50; i++) asked.push(limiter.consume('ann'));
      await new Promise(setImmediate);
      await server.restart({ until: '+PONG' });
      const count = asked.length;
      await until('some more were', async () => {
        await asked.at(-1);
        return asked.length > count + 500;
      });
      hasEnded = true;
      await load;

      const settled = await Promise.allSettled(asked);
      const answered = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.remaining] : []));
      const failed = settled.length - answered.length;
      const used = LIMIT - (await limiter.peek('ann')).remaining;
      expect(failed).toBeGreaterThan(0);
      expect(new Set(answered).size).toBe(answered.length);
      expect(used).toBeGreaterThanOrEqual(answered.length);
      expect(used).toBeLessThanOrEqual(answered.length + failed);
    } finally {
      await limiter.close();
      await server.stop();
    }
  });
});
