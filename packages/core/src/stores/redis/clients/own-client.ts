import type { Redis } from 'ioredis';
import { StoreError } from '../../../errors.ts';
import { detached, isMissing, startTimer, stopTimer, type Timer } from '../../../platform.ts';
import { toStoreError, removeCommand } from '../failure.ts';
import { adoptIoredis } from './ioredis.ts';
import type { Port } from './port.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';

/** The minimum time that the first calls wait for the server to accept the connection. */
const ACCEPT_TIMEOUT_MS = 500;
/** How long they then wait for the first reply. */
const CONNECT_TIMEOUT_MS = 250;
/** How long one attempt to connect may take: an attempt that hangs delays the next one. */
const ATTEMPT_TIMEOUT_MS = 2000;
/** A connection without replies for this long is dead: TCP would wait a quarter of an hour for a host that is gone. */
const DEAD_AFTER_MS = 3000;
const MAX_PAUSE_MS = 500;

/**
 * A client for a URL (`redis://`, `rediss://`), made with ioredis at the first call.
 *
 * It fails at once while there is no connection, sends nothing twice, and reconnects by itself, even if the server
 * turns out to be a replica, because its name may now point to another server. An open client keeps the process alive,
 * as every connection does.
 */
export class OwnClient implements Port {
  readonly #address: RedisAddress;
  readonly #connectTimeoutMs: number;
  #redis: Redis | undefined;
  /** Undefined without a connection. */
  #port: Port | undefined;
  /** Settles when the first connection has been made or given up. */
  #opening: Promise<void> | undefined;
  #hasOpened = false;
  /** Why there is no connection. */
  #trouble: NodeJS.ErrnoException | undefined;
  #closings = 0;

  /** @throws PolicyError for a bad URL; StoreError `SLUICE_REDIS_CLIENT_MISSING` if it is known that ioredis is missing. */
  constructor(url: string, connectTimeoutMs: number = CONNECT_TIMEOUT_MS) {
    this.#address = parseRedisUrl(url);
    this.#connectTimeoutMs = connectTimeoutMs;
    if (isMissing('ioredis')) throw clientMissing();
    loadIoredis().catch(() => undefined); // it takes longer than a decision may wait
  }

  evalsha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#call((port) => port.evalsha(sha1, keys, args));
  }

  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#call((port) => port.eval(script, keys, args));
  }

  subscribe(channel: string, onMessage: () => void, onEnd: () => void): () => void {
    let stop: (() => void) | undefined;
    let hasEnded = false;
    this.#call(async (port) => {
      if (!hasEnded) stop = port.subscribe?.(channel, onMessage, onEnd);
      return Promise.resolve();
    }).catch(onEnd);
    return () => {
      hasEnded = true;
      stop?.();
    };
  }

  opening(): Promise<void> | undefined {
    if (this.#hasOpened) return undefined;
    return (this.#opening ??= detached(() => this.#open()));
  }

  close(): Promise<void> {
    this.#closings++;
    this.#redis?.disconnect(); // not quit(), which waits for a server that may never reply
    this.#redis = this.#port = this.#opening = undefined;
    this.#hasOpened = false;
    return Promise.resolve();
  }

  /**
   * Calls once the first connection has been made or given up; never waits after that.
   *
   * @throws (rejects) StoreError if there is no connection, and `SLUICE_REDIS_CLIENT_MISSING`.
   */
  async #call(send: (port: Port) => Promise<unknown>): Promise<unknown> {
    if (this.#port === undefined) await (this.opening() ?? this.#opening);
    return send(this.#port ?? this.#away());
  }

  #away(): never {
    const { name } = this.#address;
    const trouble = this.#trouble;
    // When a name has several addresses and none of them responds, the error has a code and no message.
    const reason = trouble === undefined ? 'it has not answered yet' : trouble.message || String(trouble.code);
    throw toStoreError(new Error(`there is no connection to ${name}: ${reason}`, { cause: trouble }), false);
  }

  async #open(): Promise<void> {
    const closings = this.#closings;
    try {
      const { Redis } = await loadIoredis();
      if (closings === this.#closings) await this.#connect(makeRedis(Redis, this.#address.url));
    } finally {
      if (closings === this.#closings) this.#hasOpened = true;
    }
  }

  /** Resolves when the server has replied, has rejected the connection, or has taken too long. */
  #connect(redis: Redis): Promise<void> {
    this.#redis = redis;
    const port = adoptIoredis(redis);
    return new Promise((resolve) => {
      let timer = startTimer(Math.max(ACCEPT_TIMEOUT_MS, this.#connectTimeoutMs), resolve);
      const lose = (error?: Error): void => {
        stopTimer(timer);
        resolve();
        if (this.#redis !== redis) return;
        this.#port = undefined;
        if (error !== undefined) this.#trouble = removeCommand(error);
      };
      redis.once('connect', () => {
        stopTimer(timer);
        timer = startTimer(this.#connectTimeoutMs, resolve);
      });
      redis.on('connect', () => (this.#trouble = undefined));
      // A call after the store was closed reopens it, which must not keep the process alive.
      if (this.#closings > 0) {
        const inside = redis as unknown as { stream?: Timer; reconnectTimeout?: Timer };
        redis.on('connect', () => inside.stream?.unref?.());
        redis.on('reconnecting', () => inside.reconnectTimeout?.unref?.());
      }
      // Failures reach their calls; without a listener ioredis would also print them.
      redis.on('error', lose);
      redis.on('close', () => {
        lose();
      });
      redis.on('ready', () => {
        introduce(redis, this.#address.db).then(
          () => {
            if (this.#redis === redis && redis.status === 'ready') this.#port = port;
            stopTimer(timer);
            resolve();
          },
          (error: unknown) => {
            lose(error as Error);
            redis.disconnect(true);
          },
        );
      });
      redis.connect().catch(() => undefined);
    });
  }
}

function makeRedis(Client: typeof Redis, url: string): Redis {
  return new Client(url, {
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
    // Both need more permissions than the scripts do. A server that is loading returns an error anyway.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
}

/**
 * Waits for the first reply, to a script that does not exist, which needs no further permission. Selects the database
 * here, because ioredis continues in database 0 if the server denies it.
 */
async function introduce(redis: Redis, db: number): Promise<void> {
  const [selected, run] = await Promise.allSettled([
    db === 0 ? undefined : redis.select(db),
    redis.evalsha('0'.repeat(40), 0),
  ]);
  const wrong = selected.status === 'rejected' ? selected : run;
  if (wrong.status === 'rejected' && !/^NOSCRIPT/.test((wrong.reason as Error).message)) throw wrong.reason;
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw clientMissing(error);
  }
}

function clientMissing(cause?: unknown): StoreError {
  return new StoreError(
    'SLUICE_REDIS_CLIENT_MISSING',
    'redisStore was given a URL, which needs the package ioredis: run `npm install ioredis`, or pass a client instead',
    { cause, sent: false },
  );
}
