import { PolicyError, StoreError, shown } from '../../errors.ts';

/** What a Redis store needs of a client. A client of any library fits that is wrapped to look like this. */
export interface RedisClient {
  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly cluster?: boolean;
}

/** An ioredis client or Cluster, as far as it is used here. */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  defineCommand: unknown;
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: string | undefined };
}

/** A client of our own making: opened when it is first used, and ours to close. */
export interface OwnClient {
  open(): Promise<RedisClient>;
  close(): Promise<void>;
}

/** The port of a client that was handed in, or undefined when it is none we know. */
export function adoptClient(client: unknown): RedisClient | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const { evalsha, eval: evaluate, defineCommand } = client as Partial<IoredisClient>;
  if (typeof evalsha !== 'function' || typeof evaluate !== 'function') return undefined;
  return typeof defineCommand === 'function' ? adoptIoredis(client as IoredisClient) : (client as RedisClient);
}

function adoptIoredis(client: IoredisClient): RedisClient {
  return {
    evalsha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    cluster: client.isCluster === true,
  };
}

/** What ioredis would put in front of every key by itself. */
export function keyPrefixOf(client: unknown): string {
  const prefix = (client as Partial<IoredisClient> | null | undefined)?.options?.keyPrefix;
  return typeof prefix === 'string' ? prefix : '';
}

/**
 * A client for a URL (`redis://`, `rediss://`), made with ioredis on first use.
 *
 * It fails at once while there is no connection, sends nothing twice, and connects again by itself: when a decision may
 * wait and what happens when Redis is away is the limiter's business.
 *
 * @throws PolicyError when the URL is none. Opening rejects with StoreError `SLUICE_REDIS_CLIENT_MISSING` when ioredis
 * is not installed.
 */
export function clientFor(url: string): OwnClient {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new PolicyError(
      'client',
      `a Redis URL looks like redis://user:password@host:6379/0 (rediss: for TLS), got ${shown(url)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  // Loading takes longer than a decision may wait. Whether it is there is asked again when it is needed.
  loadIoredis().catch(() => undefined);
  let connection: Promise<Connection> | undefined;
  return {
    open: async () => {
      connection ??= connect(url);
      try {
        const { port, firstTry } = await connection;
        await firstTry;
        return port;
      } catch (error) {
        connection = undefined;
        throw error;
      }
    },
    close: async () => {
      const closing = connection;
      connection = undefined;
      // Not quit(), which waits for a server that may never answer: who waits for a decision has been waited for.
      await closing?.then(
        (open) => {
          open.end();
        },
        () => undefined,
      );
    },
  };
}

interface Connection {
  readonly port: RedisClient;
  /** Settles when the server has been reached, or has not: then it goes on trying, and calls fail until it succeeds. */
  readonly firstTry: Promise<void>;
  end(): void;
}

async function connect(url: string): Promise<Connection> {
  const { Redis } = await loadIoredis();
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disconnectTimeout: 50,
  });
  let trouble: Error | undefined;
  // Failures reach the calls that they concern; without a listener ioredis would print them as well.
  redis.on('error', (error: Error) => (trouble = error));
  redis.on('ready', () => (trouble = undefined));
  const checkReady = (): void => {
    if (redis.status === 'ready') return;
    const { host = 'localhost', port: at = 6379 } = redis.options;
    const why = trouble === undefined ? '' : `: ${trouble.message}`;
    throw new Error(`there is no connection to ${host}:${String(at)}${why}`, { cause: trouble });
  };
  const connected = adoptIoredis(redis);
  const port: RedisClient = {
    evalsha: async (sha1, keys, args) => {
      checkReady();
      return connected.evalsha(sha1, keys, args);
    },
    eval: async (script, keys, args) => {
      checkReady();
      return connected.eval(script, keys, args);
    },
  };
  const firstTry = redis.connect().catch(() => undefined);
  return {
    port,
    firstTry,
    end: () => {
      redis.disconnect();
    },
  };
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw new StoreError(
      'SLUICE_REDIS_CLIENT_MISSING',
      'redisStore was given a URL, which needs the package ioredis: run `npm install ioredis`, or hand a client in instead',
      { cause: error },
    );
  }
}
