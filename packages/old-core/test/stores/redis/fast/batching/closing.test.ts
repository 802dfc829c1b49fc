import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Decision, type OnStoreError } from '@sluice/old-core';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
afterEach(() => {
  redis.server.resume();
});
const policy = fixedWindow({ limit: 1_000, window: '1h' });

describe('closing a limiter whose requests wait for their turn', () => {
  it.each(['a client of its own', 'a client handed in'])('answers them first: on %s', async (what) => {
    await redis.admin.flushall();
    const store = redisStore(what === 'a client of its own' ? redis.server.storeUrl : redis.client, {
      prefix: 'sluice',
    });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    const order: string[] = [];

    const asked = Array.from({ length: 50 }, () => limiter.consume('ann'));
    void Promise.all(asked).then(() => order.push('answered'));
    await limiter.close().then(() => order.push('closed'));

    expect(order).toEqual(['answered', 'closed']);
    const decisions = await Promise.all(asked);
    expect(decisions.map(({ remaining, source }) => [remaining, source])).toEqual(
      asked.map((_, i) => [999 - i, 'redis']),
    );
    await expect(limiter.consume('ann')).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });

  it('closes one of two that share calls, and the other goes on', async () => {
    await redis.admin.flushall();
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice' });
    const [one, other] = ['one', 'other'].map((name) =>
      createLimiter({ name, policy, store, onStoreError: 'throw', timeoutMs: 60_000 }),
    ) as [ReturnType<typeof createLimiter>, ReturnType<typeof createLimiter>];

    const asked = [one.consume('ann' as never), other.consume('ann' as never), one.consume('ann' as never)];
    await one.close();
    const later = await other.consume('ann' as never);
    await other.close();

    expect((await Promise.all(asked)).map(({ remaining }) => remaining)).toEqual([999, 999, 998]);
    expect(later.remaining).toBe(998);
  });

  it.each<[OnStoreError, string]>([
    ['allow', 'unavailable'],
    ['local', 'allowed'],
  ])('settles them as onStoreError says where the store hangs: %s', async (onStoreError, outcome) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    await redis.admin.flushall();
    const store = redisStore(redis.client, { prefix: 'sluice', breaker: false });
    const limiter = createLimiter({ policy, store, onStoreError, timeoutMs: 200 });
    redis.server.pause();

    const asked: Promise<Decision>[] = Array.from({ length: 50 }, () => limiter.consume('ann'));
    await limiter.close();

    const decisions = await Promise.all(asked);
    expect(decisions.map((decision) => decision.outcome)).toEqual(asked.map(() => outcome));
  });
});

describe('closing a store by hand whose requests wait for their turn', () => {
  it.each(['that was used before', 'that was not'])('leaves no connection behind: of one %s', async (what) => {
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const connections = async (): Promise<number> =>
      String(await redis.admin.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice' });
    const limiter = createLimiter({ policy, store, timeoutMs: 2_000 });
    if (what === 'that was used before') await limiter.consume('ann');

    const asked = ['ann', 'ben', 'cat'].map((key) => limiter.consume(key));
    await store.close();
    await Promise.all(asked);

    await until('its connection is closed', async () => (await connections()) <= before);
    await limiter.close();
  });
});
