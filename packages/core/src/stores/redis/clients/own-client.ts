import { StoreError } from '../../../errors.ts';
import { adoptIoredis, withoutCommand } from './ioredis.ts';
import type { OwnClient, RedisClient } from './port.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';

/** How long calls may wait for a reply before the connection is replaced. */
const DEAD_AFTER_MS = 3_000;
/** As short as a server on another continent allows because an attempt that hangs delays the next one. */
const CONNECT_TIMEOUT_MS = 2_000;
const LONGEST_PAUSE_MS = 500;

/**
 * A client for a URL (`redis://`, `rediss://`), made with ioredis on first use.
 *
 * It fails at once while there is no connection, sends nothing twice, and reconnects by itself, also when the server
 * turns out to be a replica, because its name may point to another server now. The limiter decides how long a
 * decision waits, and what happens while Redis is unavailable. An open client keeps the process alive, as every
 * connection does.
 *
 * @throws PolicyError for a bad URL. Opening rejects with StoreError `SLUICE_REDIS_CLIENT_MISSING` when ioredis is
 * not installed.
 */
export function clientFor(url: string): OwnClient {
  const address = parseRedisUrl(url);
  // Loading takes longer than a decision may wait. A failure is reported when the module is needed.
  loadIoredis().catch(() => undefined);
  let connection: Promise<Connection> | undefined;
  return {
    open: async () => {
      const opening = (connection ??= connect(address));
      try {
        const { port, firstTry } = await opening;
        await firstTry;
        return port;
      } catch (error) {
        if (connection === opening) connection = undefined;
        throw error;
      }
    },
    close: async () => {
      const closing = connection;
      connection = undefined;
      // Not quit(), which waits for a server that may never reply: all decisions have settled by now.
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
  /**
   * Settles after the first attempt to connect. If that fails, the client goes on trying, and calls fail until it
   * succeeds.
   */
  readonly firstTry: Promise<void>;
  end(): void;
}

async function connect({ host, port: at, ...address }: RedisAddress): Promise<Connection> {
  const { Redis } = await loadIoredis();
  const redis = new Redis({
    host,
    port: at,
    ...address,
    family: 0,
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // 1: reconnect, and do not send again.
    reconnectOnError: (error) => (/\bREADONLY\b/.test(error.message) ? 1 : false),
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_PAUSE_MS),
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: 50,
    // Both need more permissions than the scripts: an ACL may deny them. A server that is loading returns an error
    // itself.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  let trouble: Error | undefined;
  let pending = 0;
  let aliveAtMs = performance.now();
  // Failures reach their calls; without a listener ioredis would also print them.
  redis.on('error', (error: Error) => (trouble = withoutCommand(error)));
  redis.on('connect', () => (aliveAtMs = performance.now()));
  redis.on('ready', () => (trouble = undefined));

  // Checked at every call, so that no timer is needed. TCP would wait a quarter of an hour for a host that is gone.
  const giveUpDead = (): void => {
    const waiting = pending > 0 || redis.status === 'connect';
    if (!waiting) aliveAtMs = performance.now();
    if (performance.now() - aliveAtMs <= DEAD_AFTER_MS) return;
    aliveAtMs = performance.now();
    trouble = new Error(`connection lost: no reply in ${String(DEAD_AFTER_MS)} ms`);
    redis.disconnect(true);
  };
  const checkReady = (): void => {
    giveUpDead();
    if (redis.status === 'ready' && redis.stream.writable) return;
    throw new Error(`there is no connection to ${host}:${String(at)}${reasonOf(trouble)}`, { cause: trouble });
  };
  const watched = async (call: () => Promise<unknown>): Promise<unknown> => {
    checkReady();
    pending++;
    try {
      return await call();
    } finally {
      pending--;
      aliveAtMs = performance.now();
    }
  };

  const connected = adoptIoredis(redis);
  return {
    port: {
      evalsha: (sha1, keys, args) => watched(() => connected.evalsha(sha1, keys, args)),
      eval: (script, keys, args) => watched(() => connected.eval(script, keys, args)),
      info: async (section) => connected.info?.(section),
      subscribe: (channel, onMessage, onEnd) => connected.subscribe?.(channel, onMessage, onEnd) ?? (() => undefined),
    },
    firstTry: firstTryOf(redis),
    end: () => {
      redis.disconnect();
    },
  };
}

/** When a name has several addresses and none of them responds, the error has a code and no message. */
function reasonOf(trouble: NodeJS.ErrnoException | undefined): string {
  return trouble === undefined ? '' : `: ${trouble.message === '' ? String(trouble.code) : trouble.message}`;
}

/** Ends with the attempt, or after the time in which a connection counts as dead. */
function firstTryOf(redis: Pick<import('ioredis').Redis, 'connect'>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, DEAD_AFTER_MS);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    redis.connect().then(end, end);
  });
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw new StoreError(
      'SLUICE_REDIS_CLIENT_MISSING',
      'redisStore was given a URL, which needs the package ioredis: run `npm install ioredis`, or pass a client instead',
      { cause: error },
    );
  }
}
