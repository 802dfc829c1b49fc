import { Cluster, Redis } from 'ioredis';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import type { Settings } from './options.ts';

/** The store of a server, and how to close it. */
export interface OpenedStore {
  readonly store: Store;
  /** Connects in advance, where the store does not do so by itself. */
  connect(): void;
  close(): Promise<void>;
}

const LONGEST_PAUSE_MS = 500;
const CONNECT_MS = 2_000;

/** Calls fail at once without a connection, and no call is sent twice: it may have counted. */
const CLIENT = {
  lazyConnect: true,
  enableOfflineQueue: false,
  enableReadyCheck: false,
  disableClientInfo: true,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 50,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, LONGEST_PAUSE_MS),
};
/** The cluster connects and reconnects its nodes. */
const { lazyConnect, enableOfflineQueue, retryStrategy, ...NODE } = CLIENT;

/** Makes the store. Nothing is sent before `connect` or the first decision. */
export function openStore({ store, redis, prefix }: Pick<Settings, 'store' | 'redis' | 'prefix'>): OpenedStore {
  const nothing = { connect: () => undefined, close: () => Promise.resolve() };
  if (store !== undefined) return { store, ...nothing }; // its owner closes it
  const [url, ...others] = redis ?? [];
  if (url === undefined) return { store: memoryStore(), ...nothing };
  if (others.length === 0 && /^rediss?:/i.test(url)) {
    const single = redisStore(url, { prefix });
    return { ...nothing, store: single, close: () => single.close() };
  }
  const client = others.length === 0 ? overSocket(url) : clusterOf([url, ...others]);
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

/** `/path` or `unix://user:password@/path`. */
function overSocket(text: string): Redis {
  const url = text.startsWith('/') ? undefined : new URL(text);
  return new Redis({ ...CLIENT, ...accessOf(url), path: url === undefined ? text : decodeURIComponent(url.pathname) });
}

/** The nodes report each other: user, password and TLS of the first URL apply to all. */
function clusterOf(urls: readonly string[]): Cluster {
  const [first = ''] = urls;
  const url = new URL(first);
  return new Cluster([...urls], {
    lazyConnect,
    enableOfflineQueue,
    enableReadyCheck: false,
    maxRedirections: 3,
    retryDelayOnFailover: 0, // else a call is sent again, and waits until then
    retryDelayOnClusterDown: 0,
    clusterRetryStrategy: retryStrategy,
    redisOptions: { ...NODE, ...accessOf(url), ...(url.protocol === 'rediss:' ? { tls: {} } : {}) },
    // Certificates are issued for the names of nodes.
    ...(url.protocol === 'rediss:' ? { dnsLookup: asItIs } : {}),
  });
}

function asItIs(name: string, answer: (error: null, address: string) => void): void {
  answer(null, name);
}

function accessOf(url: URL | undefined): { username?: string; password?: string } {
  if (url === undefined) return {};
  const { username, password } = url;
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}
