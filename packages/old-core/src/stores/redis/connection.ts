import { PolicyError, shown } from '../../errors.ts';
import type { Store } from '../../engine/store.ts';
import { withoutSecrets } from './clients/redis-url.ts';
import { adoptClient, clientFor, keyPrefixOf, type OwnClient, type RedisClient } from './client.ts';

/** A way to reach a store's Redis for anything other than decisions. */
export interface RedisConnection {
  /** The same for all connections through one client. */
  readonly through: object;
  readonly prefix: string;
  /** The prefix that the client itself adds to every key, and to no channel. */
  readonly keyPrefix: string;
  open(): Promise<RedisClient>;
  /** Closes what was opened for this connection alone. */
  close(): Promise<void>;
}

const connections = new WeakMap<Store, RedisConnection>();

export function addConnection(store: Store, connection: RedisConnection): void {
  connections.set(store, connection);
}

/** The connection of a Redis store; none for other stores. */
export function connectionOf(store: Store): RedisConnection | undefined {
  return connections.get(store);
}

/** A client that the caller passed, or our own client for a URL. */
export interface OpenedClient {
  readonly own: OwnClient | undefined;
  readonly adopted: RedisClient | undefined;
}

/**
 * The client of the value that the caller passed.
 *
 * @throws PolicyError for any other value.
 */
export function clientOf(given: unknown, where: string, connectTimeoutMs?: number): OpenedClient {
  const own = typeof given === 'string' ? clientFor(given, connectTimeoutMs) : undefined;
  const adopted = own === undefined ? adoptClient(given) : undefined;
  if (own !== undefined || adopted !== undefined) return { own, adopted };
  const url = (given as { url?: unknown } | null | undefined)?.url;
  throw new PolicyError(
    'client',
    `${where} takes a client of ioredis, iovalkey or node-redis, an object with evalsha(sha1, keys, args) and eval(script, keys, args), or a URL, got ${shown(given)}${typeof url === 'string' ? `; write ${where}(${shown(withoutSecrets(url))}, { prefix: 'shop' })` : ''}${given === undefined ? '; is the environment variable of the URL set?' : ''}`,
    'SLUICE_OPTION_INVALID',
  );
}

/**
 * @param call - The call with a prefix, which errors show: `redisStore(client, { prefix: 'shop' })`.
 * @throws PolicyError for a value that cannot be a prefix of keys, and if there is none.
 */
export function parsePrefix(prefix: unknown, call: string): string {
  if (typeof prefix === 'string' && /^[A-Za-z0-9._:/-]{1,64}$/.test(prefix)) return prefix;
  const [where = ''] = call.split('(');
  throw new PolicyError(
    'prefix',
    prefix === undefined
      ? `${where} needs a prefix, the name of your application, so that two applications on one Redis never share limits by accident: ${call}`
      : `prefix must be 1 to 64 letters, digits, ".", "_", "-", ":" and "/", got ${shown(prefix)}${typeof prefix === 'string' && /[{}]/.test(prefix) ? '; braces would move every key to one hash slot' : ''}; write ${call}`,
    'SLUICE_OPTION_INVALID',
  );
}

/**
 * A connection through a client that the caller passed, or through its own client for a URL.
 *
 * @throws PolicyError for a value that is no client, and without a valid prefix. Nothing is opened before its first use.
 */
export function connectTo(given: unknown, { prefix }: { prefix?: string | undefined }, where: string): RedisConnection {
  const { own, adopted } = clientOf(given, where);
  return {
    through: own ?? (given as object),
    prefix: parsePrefix(prefix, `${where}(client, { prefix: 'shop' })`),
    keyPrefix: keyPrefixOf(given),
    open: async () => adopted ?? (own as OwnClient).open(),
    close: async () => own?.close(),
  };
}
