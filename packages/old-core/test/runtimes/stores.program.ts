// The contract of stores, for the test runners of other runtimes.
import * as runner from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { describeStore, realRedis } from '@sluice/testkit';

describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) }, runner);

const redis = realRedis();
describeStore(
  'in Redis',
  {
    source: 'redis',
    setUp: redis.open,
    tearDown: redis.close,
    create: (clock) => redis.store(clock),
  },
  runner,
);
