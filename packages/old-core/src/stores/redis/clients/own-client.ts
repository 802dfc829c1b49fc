import { isInstalled } from '#platform';
import { detached } from '../../../platform/detached.ts';
import { StoreError } from '../../../errors.ts';
import { warnOnce } from '../../../warnings.ts';
import { adoptIoredis, withoutCommand } from './ioredis.ts';
import type { AdoptedClient, OwnClient, RedisClient } from './port.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';

/** How long calls may wait for a reply before the connection is replaced. */
const DEAD_AFTER_MS = 3_000;
/**
 * How long an attempt to connect may take: as short as a server on another continent allows because an attempt that
 * hangs delays the next one.
 */
const CONNECT_TIMEOUT_MS = 2_000;
const LONGEST_PAUSE_MS = 500;
/** While the server has not taken the connection, or has not answered on it. */
const CONNECTING: ReadonlySet<string> = new Set(['connecting', 'connect']);

/**
 * A client for a URL (`redis://`, `rediss://`), made with ioredis.
 *
 * It fails at once while there is no connection, sends nothing twice, and reconnects by itself, also when the server
 * turns out to be a replica, because its name may point to another server now. The limiter decides how long a
 * decision waits, and what happens while Redis is unavailable. An open client keeps the process alive, as every
 * connection does.
 *
 * @param connectTimeoutMs - How long calls wait for the first attempt to connect.
 * @throws PolicyError for a bad URL; StoreError `SLUICE_REDIS_CLIENT_MISSING` when ioredis is not installed, where that
 * is known: in a bundle, and on other runtimes than Node, opening rejects with it.
 */
export function clientFor(url: string, connectTimeoutMs: number = CONNECT_TIMEOUT_MS): OwnClient {
  const address = parseRedisUrl(url);
  if (isInstalled('ioredis') === false) throw clientMissing();
  // Loading takes longer than a decision may wait. A failure is reported when the module is needed.
  loadIoredis().catch(() => undefined);
  let connection: Connection | undefined;
  const current = (): Connection => {
    if (connection === undefined) countOpened(address);
    return (connection ??= new Connection(address, connectTimeoutMs));
  };
  return {
    connect: () => void current(),
    get connecting() {
      return connection?.connecting;
    },
    open: async () => {
      const opening = current();
      try {
        return await opening.use();
      } catch (error) {
        if (connection === opening) {
          connection = undefined;
          countClosed(address);
        }
        throw error;
      }
    },
    close: async () => {
      const closing = connection;
      connection = undefined;
      if (closing !== undefined) countClosed(address);
      // Not quit(), which waits for a server that may never reply: all decisions have settled by now.
      await closing?.end();
    },
  };
}

/** Connections of stores to one server that are open, by its address. Few processes have so many on purpose. */
const open = new Map<string, number>();
const MANY = 10;

function countOpened({ host, port }: RedisAddress): void {
  const server = `${host}:${String(port)}`;
  const count = (open.get(server) ?? 0) + 1;
  open.set(server, count);
  if (count !== MANY) return;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    `${String(MANY)} stores of this process are connected to ${server}, and none of these was closed. A store that is made for every ` +
      'request opens a connection each. Make redisStore(url, { prefix }) once, outside the handler, and keep it.',
    server,
  );
}

function countClosed({ host, port }: RedisAddress): void {
  const server = `${host}:${String(port)}`;
  open.set(server, (open.get(server) ?? 1) - 1);
}

/** A client for one URL, and the first attempt to connect it. */
class Connection {
  readonly #timeoutMs: number;
  readonly #client: Promise<Client>;
  #made: Client | undefined;
  #isUsed = false;
  #ready: Promise<RedisClient>;
  #connecting: Promise<void> | undefined;

  constructor(address: RedisAddress, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#client = detached(() =>
      loadIoredis().then(({ Redis }) => {
        const client = (this.#made = makeClient(Redis, address, timeoutMs));
        if (this.#isUsed) client.use();
        return client;
      }),
    );
    this.#ready = detached(() => this.#try());
  }

  get connecting(): Promise<void> | undefined {
    return this.#connecting;
  }

  /**
   * Resolves when the first attempt has ended. If it has failed, the client goes on trying, and calls fail until it
   * succeeds. An attempt that failed before the first use is made again with it.
   */
  use(): Promise<RedisClient> {
    if (!this.#isUsed) {
      this.#isUsed = true;
      this.#made?.use();
      if (this.#made?.hasEnded === true) this.#ready = detached(() => this.#try());
    }
    return this.#ready;
  }

  async end(): Promise<void> {
    await this.#client.then(
      (client) => {
        client.end();
      },
      () => undefined,
    );
  }

  #try(): Promise<RedisClient> {
    const attempt = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#timeoutMs).unref(); // the connection itself keeps the process
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#client.then((client) => client.connect()).then(end, end);
    });
    this.#connecting = attempt.then(() => {
      this.#connecting = undefined;
    });
    const ready = this.#connecting.then(async () => (await this.#client).port);
    ready.catch(() => undefined); // reaches those who use it
    return ready;
  }
}

interface Client {
  readonly port: AdoptedClient;
  /** Whether an attempt failed, and no further one is made before the first use. */
  readonly hasEnded: boolean;
  connect(): Promise<void>;
  /** From here on, the connection keeps the process alive and is made again whenever it is lost. */
  use(): void;
  end(): void;
}

function makeClient(
  Redis: typeof import('ioredis').Redis,
  { host, port: at, ...address }: RedisAddress,
  connectTimeoutMs: number,
): Client {
  let isUsed = false;
  const name = `${host}:${String(at)}${address.db === 0 ? '' : `/${String(address.db)}`}`;
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
    retryStrategy: (attempt) => (isUsed ? Math.min(attempt * 50, LONGEST_PAUSE_MS) : null),
    connectTimeout: Math.max(connectTimeoutMs, CONNECT_TIMEOUT_MS),
    disconnectTimeout: 50,
    // Both need more permissions than the scripts: an ACL may deny them. A server that is loading returns an error
    // itself.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  let trouble: Error | undefined;
  /**
   * Undefined until the server has answered. ioredis goes on in database 0 where SELECT fails, and 5 before its answer.
   */
  let isSelected: boolean | undefined;
  let selecting: Promise<'OK'> | undefined;
  const select = redis.select.bind(redis);
  redis.select = (db) => {
    selecting = select(db);
    selecting.then(
      () => {
        isSelected = true;
        trouble = undefined;
      },
      () => (isSelected = false),
    );
    return selecting;
  };
  let pending = 0;
  let aliveAtMs = performance.now();
  // Failures reach their calls; without a listener ioredis would also print them.
  redis.on('error', (error: Error) => (trouble = withoutCommand(error)));
  redis.on('connect', () => {
    isSelected = address.db === 0 || undefined;
    aliveAtMs = performance.now();
    if (!isUsed) redis.stream.unref();
  });
  redis.on('ready', () => {
    if (isSelected === true) trouble = undefined;
  });

  // Checked at every call, so that no timer is needed. TCP would wait a quarter of an hour for a host that is gone.
  const giveUpDead = (): void => {
    const waiting = pending > 0 || redis.status === 'connect' || (redis.status === 'ready' && isSelected === undefined);
    if (!waiting) aliveAtMs = performance.now();
    if (performance.now() - aliveAtMs <= DEAD_AFTER_MS) return;
    aliveAtMs = performance.now();
    trouble = new Error(`connection lost: no reply in ${String(DEAD_AFTER_MS)} ms`);
    redis.disconnect(true);
  };
  const checkReady = (): void => {
    giveUpDead();
    if (redis.status === 'ready' && redis.stream.writable) {
      if (isSelected === true) return;
      if (isSelected === false) redis.disconnect(true);
    }
    const waits = trouble === undefined && CONNECTING.has(redis.status) ? ': it has not answered yet' : '';
    throw new Error(`there is no connection to ${name}${waits}${reasonOf(trouble)}`, { cause: trouble });
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
      explain: (error) => connected.explain?.(error),
      subscribe: (channel, onMessage, onEnd) => connected.subscribe?.(channel, onMessage, onEnd) ?? (() => undefined),
    },
    get hasEnded() {
      return redis.status === 'end';
    },
    connect: () => {
      const connecting = redis.connect();
      setImmediate(() => {
        if (!isUsed) streamOf(redis)?.unref();
      });
      return connecting.then(() => selecting) as Promise<void>;
    },
    use: () => {
      isUsed = true;
      streamOf(redis)?.ref();
    },
    end: () => {
      redis.disconnect();
    },
  };
}

/** The connection, if there is one: none exists between two attempts. */
function streamOf({ stream }: { readonly stream?: unknown }): { ref(): unknown; unref(): unknown } | undefined {
  return stream as { ref(): unknown; unref(): unknown } | undefined;
}

/** When a name has several addresses and none of them responds, the error has a code and no message. */
function reasonOf(trouble: NodeJS.ErrnoException | undefined): string {
  return trouble === undefined ? '' : `: ${trouble.message === '' ? String(trouble.code) : trouble.message}`;
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
    { cause },
  );
}
