import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, redisStore, type Limiter, type Policy } from '@sluice/core';
import { expectWarnings, describeSetUps, limiterForSetUp, until, useRedis, withoutFastPath } from '@sluice/testkit';

expectWarnings('SLUICE_STATE_AHEAD', 'SLUICE_STORE_AWAY');

const redis = useRedis();
const leased = (policy: Policy): Limiter => limiterForSetUp({ policy, store: redisStore(redis.client), lease: true });

describeSetUps(
  {
    memory: (policy) => limiterForSetUp({ policy, store: memoryStore() }),
    Redis: (policy) => limiterForSetUp({ policy, store: redisStore(redis.client) }),
    'Redis without a denial cache': (policy) =>
      limiterForSetUp({ policy, store: redisStore(redis.client), denialCache: false }),
    'Redis, one call a request': (policy) =>
      limiterForSetUp({ policy, store: withoutFastPath(redisStore(redis.client)) }),
    // No server listens on port 1.
    'the local fallback': (policy) =>
      limiterForSetUp({ policy, store: redisStore('redis://127.0.0.1:1'), onStoreError: 'local' }),
  },
  { 'Redis with leases': leased },
);

describe('a lease of denials that count', () => {
  it('is an error when the limiter is made', () => {
    const policy = fixedWindow({ limit: 3, window: '1m', countDenied: true });

    expect(() => leased(policy)).toThrow(expect.objectContaining({ code: 'SLUICE_POLICY_INVALID', field: 'lease' }));
  });
});

describe('a decision from a lease', () => {
  it('states as used what it does not state as remaining', async () => {
    const limiter = leased(fixedWindow({ limit: 20_000, window: '365d', align: 'clock' }));
    let last = await limiter.consume('hot');
    await until('the key is leased', async () => {
      for (let i = 0; i < 20 && last.source !== 'lease'; i++) last = await limiter.consume('hot');
      return last.source === 'lease';
    });

    expect(last.used).toBe(last.limit - last.remaining);
    expect(last.policies[0]?.used).toBe(last.used);
  });
});
