import type { Redis } from 'ioredis';
import { StoreError, messageOf } from '../../../errors.ts';
import { failureOf, withoutCommand } from '../failure.ts';
import { adoptIoredis } from './ioredis.ts';
import type { Port } from './port.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';

/** How long the first calls wait until the server has accepted the connection, at least. */
const ACCEPT_TIMEOUT_MS = 500;
/** How long they wait from then on for the first reply. */
const CONNECT_TIMEOUT_MS = 250;
/** How long one attempt to connect may take: an attempt that hangs delays the next one. */
const ATTEMPT_TIMEOUT_MS = 2000;
/** A connection without replies for so long is dead: TCP would wait a quarter of an hour for a host that is gone. */
const DEAD_AFTER_MS = 3000;
const MAX_PAUSE_MS = 500;

/**
 * A client for a URL (`redis://`, `rediss://`), made with ioredis at the first call.
 *
 * It fails at once while there is no connection, sends nothing twice, and reconnects by itself, also when the server
 * turns out to be a replica, because its name may point to another server now. An open client keeps the process alive,
 * as every connection does.
 *
 * @throws PolicyError for a bad URL. Calls reject with StoreError `SLUICE_REDIS_CLIENT_MISSING` if ioredis is not
 * installed.
 */
export function openUrl(url: string, connectTimeoutMs: number = CONNECT_TIMEOUT_MS): Port {
  const address = parseRedisUrl(url);
  loadIoredis().catch(() => undefined); // it takes longer than a decision may wait
  let connection: Connection | undefined;
  const port = async (): Promise<Port> => {
    connection ??= new Connection(address, connectTimeoutMs);
    return connection.port ?? connection.open();
  };
  return {
    // Neither waits for a promise once there is a connection.
    evalsha: (sha1, keys, args) =>
      connection?.port?.evalsha(sha1, keys, args) ?? port().then((open) => open.evalsha(sha1, keys, args)),
    eval: (script, keys, args) =>
      connection?.port?.eval(script, keys, args) ?? port().then((open) => open.eval(script, keys, args)),
    info: async (section) => (await port()).info?.(section),
    subscribe: (channel, onMessage, onEnd) => {
      let stop: (() => void) | undefined;
      let hasEnded = false;
      port().then((open) => {
        if (!hasEnded) stop = open.subscribe?.(channel, onMessage, onEnd);
      }, onEnd);
      return () => {
        hasEnded = true;
        stop?.();
      };
    },
    firstConnectionUntil: () => connection?.waitUntilMs ?? 0,
    close: async () => {
      const closing = connection;
      connection = undefined;
      await closing?.end();
    },
  };
}

class Connection {
  /** Undefined while there is none. */
  port: Port | undefined;
  /** Until when the first connection may be waited for; 0 once it was made or given up. */
  waitUntilMs: number = Infinity;
  readonly #name: string;
  readonly #client: Promise<Redis>;
  #endWait: () => void = () => undefined;
  readonly #waited: Promise<void>;
  #trouble: Error | undefined;

  constructor(address: RedisAddress, connectTimeoutMs: number) {
    const { host, port, db } = address;
    this.#name = `${host}:${String(port)}${db === 0 ? '' : `/${String(db)}`}`;
    this.#waited = new Promise((resolve) => (this.#endWait = resolve));
    this.#client = loadIoredis().then((ioredis) =>
      this.#connect(makeRedis(ioredis.Redis, address), address, connectTimeoutMs),
    );
    this.#client.catch(() => {
      this.#giveUp();
    });
  }

  /** Waits for the first attempt; later on there is a connection or an error. */
  async open(): Promise<Port> {
    await this.#waited;
    await this.#client; // the package may be missing
    if (this.port !== undefined) return this.port;
    const reason = this.#trouble === undefined ? ': it has not answered yet' : reasonOf(this.#trouble);
    throw failureOf(new Error(`there is no connection to ${this.#name}${reason}`, { cause: this.#trouble }), false);
  }

  async end(): Promise<void> {
    this.port = undefined;
    // Not quit(), which waits for a server that may never reply.
    await this.#client.then(
      (redis) => {
        redis.disconnect();
      },
      () => undefined,
    );
    this.#giveUp();
  }

  #connect(redis: Redis, address: RedisAddress, connectTimeoutMs: number): Redis {
    const port = watched(adoptIoredis(redis), () => (this.waitUntilMs = 0));
    let timer: NodeJS.Timeout | undefined;
    const wait = (ms: number): void => {
      clearTimeout(timer);
      this.waitUntilMs = performance.now() + ms;
      timer = setTimeout(() => {
        this.#giveUp();
      }, ms).unref();
    };
    wait(Math.max(ACCEPT_TIMEOUT_MS, connectTimeoutMs));
    redis.once('connect', () => {
      wait(connectTimeoutMs);
    });
    redis.on('connect', () => (this.#trouble = undefined));
    const lose = (error?: Error): void => {
      this.port = undefined;
      if (error !== undefined) this.#trouble = withoutCommand(error);
      clearTimeout(timer);
      this.#giveUp();
    };
    // Failures reach their calls; without a listener ioredis would also print them.
    redis.on('error', lose);
    redis.on('close', () => {
      lose();
    });
    redis.on('ready', () => {
      // Not by ioredis, which goes on as the default user and in database 0 if the server denies it.
      introduce(redis, address).then(
        () => {
          if (redis.status !== 'ready') return;
          this.port = port;
          this.#endWait();
        },
        (error: Error) => {
          lose(error);
          redis.disconnect(true);
        },
      );
    });
    redis.connect().catch(() => undefined);
    return redis;
  }

  #giveUp(): void {
    this.waitUntilMs = 0;
    this.#endWait();
  }
}

function makeRedis(Client: typeof Redis, { host, port, tls }: RedisAddress): Redis {
  return new Client({
    host,
    port,
    ...(tls === undefined ? {} : { tls }),
    family: 0,
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    reconnectOnError: (error) => (/\bREADONLY\b/.test(error.message) ? 1 : false), // 1: reconnect, and do not send again
    retryStrategy: (attempt) => Math.min(attempt * 50, MAX_PAUSE_MS),
    connectTimeout: ATTEMPT_TIMEOUT_MS,
    socketTimeout: DEAD_AFTER_MS,
    disconnectTimeout: 50,
    // Both need more permissions than the scripts. A server that is loading returns an error itself.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
}

async function introduce(redis: Redis, { username, password, db }: RedisAddress): Promise<void> {
  const calls: Promise<unknown>[] = [];
  if (password !== undefined)
    calls.push(username === undefined ? redis.auth(password) : redis.auth(username, password));
  if (db !== 0) calls.push(redis.select(db));
  for (const { status, reason } of (await Promise.allSettled(calls)) as { status: string; reason?: unknown }[])
    if (status === 'rejected') throw reason;
}

/** Tells of the first reply. */
function watched(port: Port, onReply: () => void): Port {
  let isWatching = true;
  const seen = (): void => {
    isWatching = false;
    onReply();
  };
  const watch = (reply: Promise<unknown>): Promise<unknown> => {
    if (isWatching) reply.then(seen, seen);
    return reply;
  };
  return {
    ...port,
    evalsha: (sha1, keys, args) => watch(port.evalsha(sha1, keys, args)),
    eval: (script, keys, args) => watch(port.eval(script, keys, args)),
  };
}

/** When a name has several addresses and none of them responds, the error has a code and no message. */
function reasonOf(trouble: NodeJS.ErrnoException): string {
  return `: ${trouble.message === '' ? String(trouble.code) : messageOf(trouble)}`;
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw new StoreError(
      'SLUICE_REDIS_CLIENT_MISSING',
      'redisStore was given a URL, which needs the package ioredis: run `npm install ioredis`, or pass a client instead',
      { cause: error, sent: false },
    );
  }
}
