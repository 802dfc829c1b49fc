import { PolicyError, shown } from '../../errors.ts';
import type { Store } from '../store.ts';
import { adoptClient, clientFor, keyPrefixOf, type OwnClient, type RedisClient } from './client.ts';

/** How else than by its decisions a store's Redis is talked to. */
export interface RedisConnection {
  /** The same for all connections through one client. */
  readonly through: object;
  readonly prefix: string;
  /** What the client puts in front of every key by itself, and of no channel. */
  readonly keyPrefix: string;
  open(): Promise<RedisClient>;
  /** Ends what was opened for this connection alone. */
  close(): Promise<void>;
}

const connections = new WeakMap<Store, RedisConnection>();

export function noteConnection(store: Store, connection: RedisConnection): void {
  connections.set(store, connection);
}

/** The connection of a Redis store; none for other stores. */
export function connectionOf(store: Store): RedisConnection | undefined {
  return connections.get(store);
}

/** A client that was handed in, or one of our own for a URL. */
export interface OpenedClient {
  readonly own: OwnClient | undefined;
  readonly adopted: RedisClient | undefined;
}

/**
 * The client of what a user gave as one.
 *
 * @throws PolicyError for what is none.
 */
export function clientOf(given: unknown, where: string): OpenedClient {
  const own = typeof given === 'string' ? clientFor(given) : undefined;
  const adopted = own === undefined ? adoptClient(given) : undefined;
  if (own !== undefined || adopted !== undefined) return { own, adopted };
  throw new PolicyError(
    'client',
    `${where} takes a client of ioredis, iovalkey or node-redis, an object with evalsha(sha1, keys, args) and eval(script, keys, args), or a URL, got ${shown(given)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** @throws PolicyError for what cannot stand in front of keys. */
export function parsePrefix(prefix: unknown = 'sluice'): string {
  if (typeof prefix === 'string' && /^[A-Za-z0-9._:/-]{1,64}$/.test(prefix)) return prefix;
  throw new PolicyError(
    'prefix',
    `prefix must be 1 to 64 of letters, digits, ".", "_", "-", ":" and "/", got ${shown(prefix)}; braces would move every key to one hash slot`,
    'SLUICE_OPTION_INVALID',
  );
}

/**
 * A connection through a client that was handed in, or one of its own for a URL.
 *
 * @throws PolicyError for a client that is none, and for a bad prefix. Nothing is opened before it is used.
 */
export function connectTo(given: unknown, { prefix }: { prefix?: string | undefined }, where: string): RedisConnection {
  const { own, adopted } = clientOf(given, where);
  return {
    through: own ?? (given as object),
    prefix: parsePrefix(prefix),
    keyPrefix: keyPrefixOf(given),
    open: async () => adopted ?? (own as OwnClient).open(),
    close: async () => own?.close(),
  };
}
