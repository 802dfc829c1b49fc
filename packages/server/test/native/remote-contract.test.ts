import { describe } from '@jest/globals';
import { memoryStore, type Store } from '@sluice/old-core';
import { remoteStore } from '@sluice/remote';
import { describeStore, startRedis, virtualRedisStore, withoutFastPath, type RedisServer } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { PathListeners, serviceOf } from './service.ts';

/** In the future of the real server, so that its expiries are there too: a whole multiple of all windows used. */
const AHEAD_MS = 1_795_262_400_250 + 2 * 2520 * 86_400_000;

/** Without denials from the cache, which needs a clock that runs as this process's does. */
function remoteTo(url: string): Store {
  return Object.assign(remoteStore(url), { showsDenied: false });
}

let listeners: PathListeners;
const setUp = (): Promise<void> => {
  listeners = new PathListeners();
  return Promise.resolve();
};
const tearDown = (): Promise<void> => listeners.close();

describe.each<[string, (store: Store) => Store]>([
  ['that decides batches', (store) => store],
  ['that decides none', withoutFastPath],
])('a store %s', (_kind, offered) => {
  describeStore('in the memory of a service', {
    source: 'remote',
    create: (clock) => remoteTo(listeners.urlOf(serviceOf(offered(memoryStore({ clock }))))),
    setUp,
    tearDown,
  });

  let server: RedisServer;
  let redis: Redis;
  let prefixes = 0;

  describeStore('in the Redis of a service', {
    source: 'remote',
    clockAtMs: AHEAD_MS,
    create: (clock) => {
      const store = virtualRedisStore(redis, clock, { prefix: `sluice:f${String(prefixes++)}` }, 0);
      return remoteTo(listeners.urlOf(serviceOf(offered(store))));
    },
    async setUp() {
      await setUp();
      server = await startRedis();
      redis = new Redis(server.storeUrl);
    },
    async tearDown() {
      await tearDown();
      redis.disconnect();
      await server.stop();
    },
  });
});
