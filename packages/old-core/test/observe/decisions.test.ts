import { describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createLimiter, fixedWindow, memoryStore, redisStore, tokenBucket, type Store } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import { useChannels } from './use-channels.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const broken = (): Store => ({ source: 'redis', perform: () => Promise.reject(new Error('away')) });

describe('the channel sluice:decision', () => {
  const published = useChannels(() => false);
  const redis = useRedis();

  it('publishes every decision: the limiter, the request, the decision itself, and how long it took', async () => {
    const limiter = createLimiter({ name: 'Api', policy });

    const decision = await limiter.consume('key');

    expect(published.decisions).toEqual([{ limiter: 'Api', op: 'consume', decision, durationMs: expect.any(Number) }]);
    expect(published.decisions[0]?.decision).toBe(decision);
    expect(published.decisions[0]?.durationMs).toBeGreaterThanOrEqual(0);
  });

  it('publishes decisions of Redis, with the time they took', async () => {
    const limiter = createLimiter({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), timeoutMs: 60_000 });

    const decision = await limiter.consume('key');

    expect(published.decisions).toEqual([
      { limiter: 'default', op: 'consume', decision, durationMs: expect.any(Number) },
    ]);
    expect(decision.source).toBe('redis');
    expect(published.decisions[0]?.durationMs).toBeGreaterThan(0);
  });

  it('publishes denials, with the policy that denied', async () => {
    const limiter = createLimiter({
      policy: [
        fixedWindow({ name: 'hourly', limit: 1, window: '1h' }),
        tokenBucket({ name: 'burst', capacity: 5, refill: 1, every: '1s' }),
      ],
    });

    await limiter.consume('key');
    await limiter.consume('key');
    await limiter.block('key', '1m');
    await limiter.consume('key');

    expect(published.decisions.map(({ decision: { outcome, policy: by } }) => [outcome, by])).toEqual([
      ['allowed', 'hourly'],
      ['denied', 'hourly'],
      ['blocked', expect.any(String)],
    ]);
  });

  it('distinguishes a peek from a consume, whatever its cost', async () => {
    const limiter = createLimiter({ policy });

    await limiter.peek('key');
    await limiter.consume('key', 0);
    await limiter.consume('key');

    expect(published.decisions.map(({ op }) => op)).toEqual(['peek', 'consume', 'consume']);
  });

  it.each([
    ['local', 'allowed', 'local'],
    ['allow', 'unavailable', 'none'],
    ['deny', 'unavailable', 'none'],
  ] as const)(
    'publishes decisions of the fallback of a store that failed: %s',
    async (onStoreError, outcome, source) => {
      await createLimiter({ policy, store: broken(), onStoreError }).consume('key');

      expect(published.decisions.map(({ decision }) => [decision.outcome, decision.source])).toEqual([
        [outcome, source],
      ]);
    },
  );

  it('publishes nothing without a decision: for an error, a reset, a block, a refund', async () => {
    const limiter = createLimiter({ policy });
    const decision = await limiter.consume('key');
    await limiter.refund(decision);
    await limiter.reset('key');
    await limiter.block('key', '1m');
    await limiter.unblock('key');
    await expect(limiter.consume('')).rejects.toThrow();
    await expect(createLimiter({ policy, store: broken(), onStoreError: 'throw' }).consume('key')).rejects.toThrow();

    expect(published.decisions).toHaveLength(1);
  });
});

describe('a decision without a subscriber', () => {
  it('is not timed', async () => {
    const limiter = createLimiter({ policy, store: memoryStore({ clock: Date }) });
    const looks = jest.spyOn(performance, 'now');
    const looksOf = async (): Promise<number> => {
      looks.mockClear();
      await limiter.consume('key');
      return looks.mock.calls.length;
    };
    const listener = (): void => {};

    const before = await looksOf();
    subscribe('sluice:decision', listener);
    const meanwhile = await looksOf();
    unsubscribe('sluice:decision', listener);
    const afterwards = await looksOf();
    looks.mockRestore();

    expect([before, meanwhile, afterwards]).toEqual([0, 2, 0]);
  });
});
