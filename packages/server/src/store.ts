import { Cluster } from 'ioredis';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import type { Settings } from './options.ts';

/** The store of a server, and how to close it. */
export interface OpenedStore {
  readonly store: Store;
  /** Connects in advance, if the store does not do so by itself. */
  connect(): void;
  close(): Promise<void>;
}

const MAX_PAUSE_MS = 500;
const CONNECT_MS = 2_000;

/** Calls fail at once without a connection, and no call is sent twice: it may have counted. */
const NODE = {
  enableReadyCheck: false,
  disableClientInfo: true,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 50,
};

/** Creates the store. Nothing is sent before `connect` or the first decision. */
export function openStore({ store, redis, prefix }: Pick<Settings, 'store' | 'redis' | 'prefix'>): OpenedStore {
  const nothing = { connect: () => undefined, close: () => Promise.resolve() };
  if (store !== undefined) return { store, ...nothing }; // its owner closes it
  const [url, ...others] = redis ?? [];
  if (url === undefined) return { store: memoryStore(), ...nothing };
  if (others.length === 0) {
    const single = redisStore(url, { prefix });
    return { ...nothing, store: single, close: () => single.close() };
  }
  const client = makeCluster([url, ...others]);
  client.on('error', () => undefined); // each decision that fails tells of it
  return {
    store: redisStore(client, { prefix }),
    connect: () => {
      client.connect().catch(() => undefined); // it goes on trying
    },
    close: () => {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

/** The nodes report each other, so the user, password and TLS of the first URL apply to all. */
function makeCluster(urls: readonly [string, ...string[]]): Cluster {
  const { protocol, username, password } = new URL(urls[0]);
  const access = {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
  return new Cluster([...urls], {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    maxRedirections: 3,
    retryDelayOnFailover: 0, // else a call is sent again, and waits until then
    retryDelayOnClusterDown: 0,
    clusterRetryStrategy: (attempt) => Math.min(attempt * 50, MAX_PAUSE_MS),
    // Certificates are issued for the names of nodes.
    ...(protocol === 'rediss:'
      ? {
          dnsLookup: (name, answer) => {
            answer(null, name);
          },
        }
      : {}),
    redisOptions: { ...NODE, ...access, ...(protocol === 'rediss:' ? { tls: {} } : {}) },
  });
}
