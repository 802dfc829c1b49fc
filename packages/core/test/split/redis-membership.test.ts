import { beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, slidingWindow, type Limiter } from '../../src/index.ts';
import { redisMembership, splitStore, type Membership } from '../../src/split/index.ts';
import { until, useClosing, useRedis } from '@sluice/testkit';
import { allowedBy } from './manual-membership.ts';

const registry = useRedis();
beforeEach(async () => {
  await registry.admin.flushall();
});

const closeLater = useClosing();

const TIMES = { heartbeatMs: 50, ttlMs: 2000 };
const FAST = { prefix: 'sluice', ...TIMES };

function limiterOf(membership: Membership, limit = 10, graceMs = 2100): Limiter {
  const policy = slidingWindow({ limit, window: '200ms' });
  const store = closeLater(splitStore({ membership, graceMs }));
  return createLimiter({ policy, store, onStoreError: 'throw' });
}

const members = async (group = 'default'): Promise<number> =>
  Object.keys(await registry.admin.hgetall(`sluice:members:${group}`)).filter((field) => !field.startsWith('#')).length;

describe('instances that share a limit over Redis', () => {
  it('share it by their weights, and take over the share of one that leaves', async () => {
    const light = limiterOf(redisMembership(registry.admin, FAST), 8);
    const heavy = limiterOf(redisMembership(registry.server.url, { ...FAST, weight: 3 }), 8);
    await until('a quarter and three quarters', async () => {
      const key = String(Math.random());
      return (await allowedBy(light, key)) === 2 && (await allowedBy(heavy, key)) === 6;
    });

    await heavy.close();
    expect(await members()).toBe(1);
    await until(
      'all is left to the other one',
      async () => (await allowedBy(light, `b${String(Math.random())}`)) === 8,
    );
  });
});

describe('a membership', () => {
  it('uses the client and the prefix of a Redis store', async () => {
    const membership = redisMembership(redisStore(registry.admin, { prefix: 'other' }), TIMES);
    limiterOf(membership);

    await until(
      'it is a member',
      async () => (await registry.admin.hexists('other:members:default', membership.id)) === 1,
    );
  });

  it('reports why it is not confirmed', async () => {
    await registry.admin.set('sluice:members:taken', 'by another program');
    const limiter = limiterOf(redisMembership(registry.admin, { ...FAST, ttlMs: 100, group: 'taken' }), 10, 101);

    const error: unknown = await until('a heartbeat has failed', async () => {
      const rejected: unknown = await limiter.consume('key').catch((reason: unknown) => reason);
      return (rejected as Error).message.includes('WRONGTYPE') && rejected;
    });

    expect(error).toMatchObject({ code: 'SLUICE_SPLIT_UNCONFIRMED', cause: { code: 'SLUICE_STORE_FAILED' } });
  });

  it('is one instance, and joined by one store at a time', async () => {
    const membership = redisMembership(registry.admin, FAST);
    const limiter = limiterOf(membership);

    expect(() => limiterOf(membership)).toThrow(expect.objectContaining({ code: 'SLUICE_OPTION_INVALID' }));
    await limiter.close();
    expect(() => limiterOf(membership)).not.toThrow();
  });
});
