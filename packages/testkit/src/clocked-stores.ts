import { memoryStore, type Clock, type Store } from '@sluice/old-core';
import { startRedis } from './redis-server.ts';
import { virtualRedisStore } from './virtual-redis.ts';
import { Redis } from 'ioredis';

/** A kind of store with the clock of a test. */
export interface ClockedStores {
  readonly kind: string;
  open(): Promise<void>;
  close(): Promise<void>;
  /** An empty store. */
  store(clock: Clock): Store;
}

export const memory: ClockedStores = {
  kind: 'memory',
  open: async () => {},
  close: async () => {},
  store: (clock) => memoryStore({ clock }),
};

/** A real server that takes the time from the clock. */
export function realRedis(): ClockedStores {
  let stop = async (): Promise<void> => {};
  let client: Redis | undefined;
  let stores = 0;
  return {
    kind: 'Redis',
    async open() {
      const server = await startRedis();
      const connection = new Redis(server.storeUrl);
      client = connection;
      stop = async () => {
        connection.disconnect();
        await server.stop();
      };
    },
    close: () => stop(),
    store: (clock) => virtualRedisStore(client as Redis, clock, { prefix: `sluice:s${String(stores++)}` }),
  };
}
