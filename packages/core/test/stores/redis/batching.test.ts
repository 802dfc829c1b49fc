import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { fixedWindow, redisStore, slidingLog, slidingWindow, tokenBucket, type Policy } from '../../../src/index.ts';
import { SCRIPTS } from '../../../src/stores/redis/lua/generated/scripts.generated.ts';
import type { Answer, Ask, Op } from '../../../src/stores/store.ts';
import { allowed, ask, five, remaining } from './asks.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1h' });
const opened = () => {
  const calls: string[] = [];
  const run = (how: 'evalsha' | 'eval') => (script: string, keys: readonly string[], args: readonly string[]) => {
    calls.push(`${how} ${String(keys.length)}`);
    return redis.client[how](script, keys.length, ...keys, ...args);
  };
  const store = redisStore({ evalsha: run('evalsha'), eval: run('eval') }, { prefix: 'sluice' });
  return { store, calls, perform: async (op: Op, ...asks: Ask[]): Promise<Answer> => store.perform(op, asks) };
};

describe('what one turn of the event loop asks for', () => {
  it('is one call, whatever its keys, policies and operations', async () => {
    const { store, calls, perform } = opened();
    await store.perform('peek', [ask('ann')]);
    await store.perform('charge', [ask('ann', five, 0)]);
    calls.length = 0;

    await Promise.all([
      perform('give'),
      perform('take', ask('ann')),
      perform('take', ask('bob', bucket), ask('cid', slidingLog({ limit: 5, window: '1m' }))),
      perform('peek', ask('dan', slidingWindow({ limit: 5, window: '1m' }))),
      perform('give', ask('ann'), ask('bob', bucket)),
    ]);

    expect(calls).toEqual(['evalsha 6']);
  });

  it('is asked of Redis once for requests that are equal, and each has its own answer', async () => {
    const { store, calls } = opened();
    await store.perform('peek', [ask('ann')]);

    const answers = await Promise.all([...'abaabaaa'].map(async (subject) => store.perform('take', [ask(subject)])));

    expect(calls.at(-1)).toBe('evalsha 2');
    expect(answers.map(({ figures }) => figures[0]?.[1])).toEqual([4, 4, 3, 2, 3, 1, 0, 0]);
    expect(allowed(...answers)).toEqual([true, true, true, true, true, true, true, false]);
  });

  it.each([
    ['many keys', five, 32],
    ['long states', slidingLog({ limit: 1_000, window: '1m' }), 2],
  ])('is several calls where one would keep Redis from others for long: %s', async (_what, policy, most) => {
    const { store, calls } = opened();

    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => store.perform('take', [ask(`key-${String(i)}`, policy)])),
    );

    expect(allowed(...answers)).not.toContain(false);
    for (const call of calls) expect(Number(call.split(' ')[1])).toBeLessThanOrEqual(most);
  });

  it.each<[string, Policy, number]>([
    ['all fit', fixedWindow({ limit: 50, window: '10m' }), 600_000],
    ['some do not fit', fixedWindow({ limit: 5, window: '10m' }), 600_000],
    ['they may overdraw', tokenBucket({ capacity: 50, refill: 1, every: '1m', overdraft: 1 }), 20 * 60_000],
    ['they lengthen what is there', tokenBucket({ capacity: 5, refill: 1, every: '5m' }), 25 * 60_000],
  ])(
    'of equal requests leaves a key that does not expire before its state ends: %s',
    async (_what, policy, endsInMs) => {
      const { store } = opened();
      const takes = async (count: number): Promise<unknown> =>
        Promise.all(Array.from({ length: count }, async () => store.perform('take', [ask('ann', policy)])));

      await takes(2);
      await takes(18);

      expect(await redis.admin.pttl('sluice:{ann}:default')).toBeGreaterThan(endsInMs - 60_000);
    },
  );

  it('leaves while other calls are in flight, and with the store that is closed', async () => {
    const { store, perform } = opened();
    const first = perform('take', ask('ann'));
    await new Promise(process.nextTick);

    const second = perform('take', ask('ann'));
    await store.close();

    expect(allowed(...(await Promise.all([first, second])))).toEqual([true, true]);
    expect(await remaining(store, ask('ann'))).toEqual([3]);
  });
});

describe('a script', () => {
  it.each<[string, Op, Policy]>([
    ['window', 'take', five],
    ['debt', 'peek', bucket],
    ['blocks', 'try', slidingWindow({ limit: 5, window: '1m' })],
    ['all', 'charge', five],
  ])('%s is all that a server has to know for a %s of its policies', async (name, op, policy) => {
    await redis.admin.script('FLUSH');

    await redisStore(redis.client, { prefix: 'sluice' }).perform(op, [ask('ann', policy)]);

    const known = await redis.admin.script('EXISTS', ...Object.values(SCRIPTS).map(({ sha1 }) => sha1));
    expect(Object.keys(SCRIPTS).filter((_, i) => (known as number[])[i] === 1)).toEqual([name]);
  });

  it('is sent by one of several calls that find it unknown, and the others follow', async () => {
    const { perform, calls } = opened();
    await redis.admin.script('FLUSH');
    const requests = [];
    for (let i = 0; i < 5; i++) {
      requests.push(perform('take', ask(`key-${String(i)}`)));
      await new Promise(process.nextTick);
      await new Promise(setImmediate);
    }

    await Promise.all(requests);

    expect(calls.filter((call) => call.startsWith('eval '))).toHaveLength(1);
  });

  it('is not sent again and again where the server denies EVAL', async () => {
    let sent = 0;
    const reject = (text: string) => () => (sent++, Promise.reject(new Error(text)));
    const client = {
      evalsha: reject('NOSCRIPT No matching script'),
      eval: reject('NOPERM this user may not run eval'),
    };
    const store = redisStore(client, { prefix: 'sluice' });

    const edits = Array.from({ length: 60 }, (_, i) => ask(`key-${String(i)}`));
    await expect(store.perform('reset', edits)).rejects.toMatchObject({ kind: 'denied' });

    expect(sent).toBeLessThanOrEqual(12);
  });
});
