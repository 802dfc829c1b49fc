import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter, type SingleLimiterOptions } from '@sluice/old-core';
import { STORE_USER, useRedis } from '@sluice/testkit';
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

describe('a call that fails as a whole', () => {
  it.each<[string, string, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      'no memory',
      'oom',
      () => redis.admin.config('SET', 'maxmemory', '1'),
      () => redis.admin.config('SET', 'maxmemory', '0'),
    ],
    [
      'no right to write',
      'denied',
      () => redis.admin.acl('SETUSER', STORE_USER.name, '-set'),
      () => redis.admin.acl('SETUSER', STORE_USER.name, '+set'),
    ],
  ])('fails each of its requests for that reason, and takes nothing: %s', async (_what, kind, put, undo) => {
    const store = redisStore(client, { prefix: 'sluice', breaker: false });
    const limiter = limiterOf({ store });
    const others = limiterOf({ store, name: 'others' });
    await Promise.all([limiter.consume('warm'), others.consume('warm')]);
    await put();

    const asked = ['ann', 'ben', 'ann', 'cat'].map((key) => limiter.consume(key));
    asked.push(...['ann', 'ben'].map((key) => others.consume(key)));
    const settled = await Promise.allSettled(asked);
    await undo();

    expect(settled.map((one) => one.status === 'rejected' && (one.reason as { kind: string }).kind)).toEqual(
      asked.map(() => kind),
    );
    expect((await redis.admin.keys('*')).sort()).toEqual(['sluice:{warm}:default:2f', 'sluice:{warm}:others:2f']);
  });

  it('has each of its requests decided as its own limiter says', async () => {
    const store = redisStore(client, { prefix: 'sluice', breaker: false });
    const five = fixedWindow({ limit: 5, window: '1h' });
    const [local, allow, deny] = (['local', 'allow', 'deny'] as const).map((onStoreError) =>
      limiterOf({ store, name: onStoreError, policy: five, onStoreError }),
    ) as [Limiter, Limiter, Limiter];
    await local.consume('warm');
    await redis.admin.config('SET', 'maxmemory', '1');

    const asked = [local, allow, deny, local].map((limiter, i) => limiter.consume('ann', i + 2));
    const decisions = await Promise.all(asked);
    await redis.admin.config('SET', 'maxmemory', '0');

    expect(decisions.map(({ outcome, source, cost }) => [outcome, source, cost])).toEqual([
      ['allowed', 'local', 2],
      ['unavailable', 'none', 3],
      ['unavailable', 'none', 4],
      ['denied', 'local', 5],
    ]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, false]);
  });
});
