import { Redis } from 'ioredis';
import { memoryStore } from '@sluice/old-core';
import { describeStore, startRedis, virtualRedisStore, type RedisServer } from '@sluice/testkit';

describeStore('in memory', { source: 'memory', create: (clock) => memoryStore({ clock }) });

let server: RedisServer;
let redis: Redis;

describeStore('in Redis', {
  source: 'redis',
  create: (clock) => virtualRedisStore(redis, clock, { prefix: 'sluice' }),
  async setUp() {
    server = await startRedis();
    redis = new Redis(server.storeUrl);
  },
  async tearDown() {
    redis.disconnect();
    await server.stop();
  },
});
