import { Cluster } from 'ioredis';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import type { Settings } from './options.ts';

/** The store of a server, and how to close it. */
export interface OpenedStore {
  readonly store: Store;
  close(): Promise<void>;
}

/** Makes the store. Nothing is sent: the server starts while Redis is away, and decides from memory until then. */
export function openStore({ store, redis }: Pick<Settings, 'store' | 'redis'>): OpenedStore {
  if (store !== undefined) return { store, close: () => Promise.resolve() }; // its owner closes it
  const [url, ...others] = redis ?? [];
  if (url === undefined) return { store: memoryStore(), close: () => Promise.resolve() };
  if (others.length === 0) {
    const single = redisStore(url);
    return { store: single, close: () => single.close() };
  }
  const cluster = new Cluster([url, ...others], { enableReadyCheck: false });
  cluster.on('error', () => undefined); // each decision that fails tells of it
  return {
    store: redisStore(cluster),
    close: () => {
      cluster.disconnect();
      return Promise.resolve();
    },
  };
}
