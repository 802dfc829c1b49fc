import { parseRedisUrl } from './clients/redis-url.ts';

interface Address {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
}

/** Members of clients of ioredis and node-redis that say which server they are for, as far as they are read here. */
interface Addressed {
  readonly options?: Address & {
    readonly db?: unknown;
    readonly database?: unknown;
    readonly sentinels?: unknown;
    readonly socket?: Address;
  };
}

/** Numbers of clients whose server cannot be seen. */
const numbers = new WeakMap<object, string>();
let count = 0;

/**
 * The server and database of a client or URL, as text: the same for two clients of one server, where both show which it
 * is. The server of a cluster, a sentinel, a pool or an object with functions is a number, the same for that client
 * alone.
 */
export function serverOf(client: object | string): string {
  if (typeof client === 'string') {
    const { db, ...address } = parseRedisUrl(client);
    return written(address, db);
  }
  const { options } = client as Addressed;
  const address = options?.socket ?? options;
  if (address !== undefined && (address.port ?? address.path) !== undefined && options?.sentinels == null) {
    return written(address, options?.db ?? options?.database ?? 0);
  }
  const number = numbers.get(client) ?? `client ${String(++count)}`;
  numbers.set(client, number);
  return number;
}

function written({ host = 'localhost', port, path }: Address, database: unknown): string {
  const name = String(host).toLowerCase();
  const at = name === 'localhost' || name === '::1' ? '127.0.0.1' : name;
  return `${typeof path === 'string' ? path : `${at}:${String(port)}`}/${String(database)}`;
}
