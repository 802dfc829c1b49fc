import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  silenceWarnings,
  StoreError,
  type SingleLimiterOptions,
  type IoredisClient,
  type Limiter,
  type RedisStoreOptions,
} from '@sluice/old-core';
import type { RedisServer } from '@sluice/testkit';

/** How a store reaches its server: through a client of the application, or by a URL. */
export interface Way {
  readonly name: string;
  /** A limiter that throws the store's errors, with a long timeout. */
  strict(server: RedisServer, options?: WayOptions): Limiter;
  /** A limiter that decides locally when the store fails or is late, and probes often for its recovery. */
  lenient(server: RedisServer, options?: WayOptions): Limiter;
}

export interface WayOptions {
  readonly limit?: number;
  readonly timeoutMs?: number;
  readonly store?: Partial<RedisStoreOptions>;
}

silenceWarnings('SLUICE_STORE_AWAY'); // expected throughout these tests

type Connected = IoredisClient & { disconnect(): void; on(event: 'error', listener: () => void): unknown };

const connections: Connected[] = [];
const limiters: Limiter[] = [];

/** Closes everything that the ways of this file have opened. */
export async function closeAll(): Promise<void> {
  for (const connection of connections.splice(0)) connection.disconnect();
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
}

/** Closes a client with {@link closeAll}. */
export function keep<T extends Connected>(client: T): T {
  client.on('error', () => undefined); // ioredis prints errors without a listener
  connections.push(client);
  return client;
}

/** Closes a limiter with {@link closeAll}. */
export function limiterOn(
  client: IoredisClient | string,
  options: SingleLimiterOptions,
  store: Partial<RedisStoreOptions> = {},
): Limiter {
  const limiter = createLimiter({ ...options, store: redisStore(client, { prefix: 'sluice', ...store }) });
  limiters.push(limiter);
  return limiter;
}

function way(name: string, connect: (url: string) => IoredisClient | string): Way {
  const open = (server: RedisServer, mode: 'throw' | 'local', timeoutMs: number, options: WayOptions): Limiter => {
    const policy = fixedWindow({ limit: options.limit ?? 10, window: '1h' });
    const limit = { policy, onStoreError: mode, timeoutMs: options.timeoutMs ?? timeoutMs };
    return limiterOn(connect(server.storeUrl), limit, options.store);
  };
  return {
    name,
    strict: (server, options = {}) =>
      open(server, 'throw', 10_000, { ...options, store: { breaker: false, ...options.store } }),
    lenient: (server, options = {}) =>
      open(server, 'local', 100, { ...options, store: { breaker: { probeEveryMs: 50 }, ...options.store } }),
  };
}

const soon = { disconnectTimeout: 50, maxLoadingRetryTime: 100 };
export const ways: readonly Way[] = [
  way('ioredis 6', (url) => keep(new Redis(url, soon))),
  way('ioredis 5', (url) => keep(new Redis5(url, soon))),
  way('a URL', (url) => url),
];

/** The result of a decision: its source and verdict, or the kind of the failure. */
export async function outcomeOf(limiter: Limiter, key = 'key', cost = 1): Promise<string> {
  try {
    const { source, allowed } = await limiter.consume(key, cost);
    return `${source}: ${allowed ? 'allowed' : 'denied'}`;
  } catch (error) {
    return error instanceof StoreError ? error.kind : String(error);
  }
}
