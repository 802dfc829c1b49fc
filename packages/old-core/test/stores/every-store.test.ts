import { memoryStore, redisStore } from '@sluice/old-core';
import { expectWarnings, describeSetUps, limiterForSetUp, useRedis, withoutFastPath } from '@sluice/testkit';

expectWarnings('SLUICE_STATE_AHEAD', 'SLUICE_STORE_AWAY');

const redis = useRedis();

describeSetUps({
  memory: (policy) => limiterForSetUp({ policy, store: memoryStore() }),
  Redis: (policy) => limiterForSetUp({ policy, store: redisStore(redis.client, { prefix: 'sluice' }) }),
  'Redis without a denial cache': (policy) =>
    limiterForSetUp({ policy, store: redisStore(redis.client, { prefix: 'sluice' }), denialCache: false }),
  'Redis, one call a request': (policy) =>
    limiterForSetUp({ policy, store: withoutFastPath(redisStore(redis.client, { prefix: 'sluice' })) }),
  // No server listens on port 1.
  'the local fallback': (policy) =>
    limiterForSetUp({ policy, store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }), onStoreError: 'local' }),
});
