// The contract of stores, for the test runners of other runtimes.
import { memoryStore } from '@sluice/core';
import { describeStore, realRedis } from '@sluice/testkit';

describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) });

const redis = realRedis();
describeStore('in Redis', {
  source: 'redis',
  setUp: redis.open,
  tearDown: redis.close,
  create: (clock) => redis.store(clock),
});
