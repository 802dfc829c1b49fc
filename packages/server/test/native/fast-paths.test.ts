import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  redisStore,
  type Decision,
  type Limiter,
  type RedisStore,
  type SingleLimiterOptions,
} from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { remoteStore } from '@sluice/remote';
import type { BatchAnswer, CoalescedRequests } from '@sluice/old-core/spi';
import { until, useRedis } from '@sluice/testkit';
import { listenForFrames, serviceOf, type FrameListener } from './service.ts';

const redis = useRedis();
let store: RedisStore;
let listening: FrameListener;
let performBatch: ReturnType<typeof watch>;

function watch(watched: RedisStore) {
  type PerformBatch = (keys: readonly CoalescedRequests[]) => Promise<BatchAnswer>;
  return jest.spyOn(watched as unknown as { performBatch: PerformBatch }, 'performBatch');
}

beforeAll(async () => {
  store = redisStore(redis.client, { prefix: 'sluice' });
  performBatch = watch(store);
  listening = await listenForFrames(serviceOf(store));
});
afterAll(async () => {
  await listening.close();
});

const limiters: Limiter[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

let names = 0;
function limiterOf(options: Omit<SingleLimiterOptions, 'store'>): Limiter {
  const limiter = createLimiter({
    name: `fast-${String(names++)}`,
    store: remoteStore(listening.url),
    onStoreError: 'throw',
    timeoutMs: 60_000,
    ...options,
  });
  limiters.push(limiter);
  return limiter;
}

async function sourcesOf(limiter: Limiter, count: number): Promise<readonly Decision['source'][]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < count; i++) decisions.push(await limiter.consume('key'));
  return decisions.map(({ source }) => source);
}

describe('a limiter over a service in front of Redis', () => {
  it('sends the decisions of one turn in one frame, which is one call of Redis', async () => {
    const limiter = limiterOf({ policy: fixedWindow({ limit: 1_000, window: '1h' }) });
    await limiter.consume('first'); // connects
    performBatch.mockClear();

    const decisions = await Promise.all(
      Array.from({ length: 15 * 3 }, (_, i) => limiter.consume(`key-${String(i % 15)}`)),
    );

    expect(decisions.map(({ used }) => used)).toEqual([
      ...Array<number>(15).fill(1),
      ...Array<number>(15).fill(2),
      ...Array<number>(15).fill(3),
    ]);
    expect(performBatch.mock.calls.map(([keys]) => keys.length)).toEqual([15]);
  });

  it('denies by itself what its service has denied, until the key is reset', async () => {
    const limiter = limiterOf({ policy: fixedWindow({ limit: 2, window: '1h' }) });

    expect(await sourcesOf(limiter, 5)).toEqual(['remote', 'remote', 'remote', 'cache', 'cache']);
    await limiter.reset('key');
    expect(await limiter.consume('key')).toMatchObject({ allowed: true, source: 'remote', used: 1 });
  });

  it('denies by itself over several policies, too', async () => {
    const policy = [
      fixedWindow({ name: 'hour', limit: 2, window: '1h' }),
      fixedWindow({ name: 'day', limit: 9, window: '1d', countDenied: false }),
    ];
    const limiter = createLimiter({
      name: `fast-${String(names++)}`,
      limits: policy.map((one) => ({ name: one.name as string, policy: one })),
      store: remoteStore(listening.url),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    const decide = async (): Promise<string> => (await limiter.consume({ hour: 'key', day: 'key' })).source;

    expect([await decide(), await decide(), await decide(), await decide()]).toEqual([
      'remote',
      'remote',
      'remote',
      'cache',
    ]);
    await limiter.close();
  });

  it('holds slots, which other processes get when they are released', async () => {
    const policy = concurrency({ limit: 1, ttl: '1m' });
    const [one, other] = [limiterOf({ name: 'slots', policy }), limiterOf({ name: 'slots', policy })];
    const held = await one.acquire('key');

    expect(held.decision).toMatchObject({ allowed: true, source: 'remote' });
    expect((await other.acquire('key')).decision.allowed).toBe(false);
    expect(await held.renew()).toBe(true);
    await held.release();
    expect((await other.acquire('key')).decision.allowed).toBe(true);
  });

  it('uses managed policies of a source that it reaches, and follows their changes', async () => {
    const policies = createPolicies(redis.admin, { prefix: 'sluice' });
    await policies.put('orders', fixedWindow({ limit: 4, window: '1h' }), { apps: ['shop'] });
    const limiter = limiterOf({ policy: managed('orders'), app: 'shop', policies });
    expect(await limiter.consume('key', 3)).toMatchObject({ allowed: true, source: 'remote', limit: 4, used: 3 });

    await policies.put('orders', fixedWindow({ limit: 10, window: '1h' }), { apps: ['shop'], carryOver: 'keep' });
    await until('the change is known', async () => (await limiter.peek('key')).limit === 10);

    expect(await limiter.consume('key', 5)).toMatchObject({ allowed: true, source: 'remote', limit: 10, used: 8 });
    await policies.close();
  });
});
