import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { Failure, isLate, UsageError } from './failure.ts';

/** A working connection to a server, or to the cluster it belongs to. */
export type Connection = Redis | Cluster;

/** The timeout of connecting, and of each command. */
const PATIENCE_MS = 3_000;
const NO_ANSWER = `no answer within ${String(PATIENCE_MS / 1_000)} s`;

const OPTIONS = {
  family: 0,
  connectTimeout: PATIENCE_MS,
  commandTimeout: PATIENCE_MS,
  // All commands have ended by then; a longer timer would keep the process alive.
  disconnectTimeout: 50,
  maxRetriesPerRequest: 0,
  // Both would need further permissions.
  enableReadyCheck: false,
  disableClientInfo: true,
};

/**
 * Connects to the server at a URL, or to the cluster it belongs to.
 *
 * @throws (rejects) UsageError for an invalid URL; Failure, with the address and never the password, if no server
 * answers within three seconds.
 */
export async function connect(url: string): Promise<Connection> {
  const { db, ...address } = readUrl(url);
  const redis = new Redis({ ...OPTIONS, ...address, lazyConnect: true, retryStrategy: () => null });
  let trouble: Error | undefined;
  redis.on('error', (error: Error) => (trouble ??= error));
  const isCluster = redis.connect().then(async () => {
    await redis.time();
    // Selected explicitly: ioredis itself would continue in database 0 if it may not select another one.
    if (db > 0) await redis.select(db);
    return (await redis.info('cluster').catch(() => '')).includes('cluster_enabled:1');
  });
  try {
    if (!(await withinTime(isCluster))) return redis;
    redis.disconnect();
    if (db > 0) throw new UsageError(`a Redis cluster has only database 0; the URL names database ${String(db)}`);
    return await connectCluster(address);
  } catch (error) {
    redis.disconnect();
    throw error instanceof UsageError ? error : unusable(address, trouble ?? error);
  }
}

async function connectCluster({ host, port, ...access }: Omit<Address, 'db'>): Promise<Cluster> {
  const cluster = new Cluster([{ host, port }], {
    lazyConnect: true,
    redisOptions: { ...OPTIONS, ...access },
    clusterRetryStrategy: () => null,
    enableReadyCheck: false,
    // Keeps the names of nodes, because their certificates are issued for these.
    ...(access.tls === undefined ? {} : { dnsLookup: keepAddress }),
  });
  cluster.on('error', () => undefined);
  try {
    await withinTime(cluster.connect());
    return cluster;
  } catch (error) {
    cluster.disconnect();
    throw error;
  }
}

function keepAddress(name: string, answer: (error: null, address: string) => void): void {
  answer(null, name);
}

/** The failure of a connection that stops answering, worded like that of one that was never made. */
export function silence(url: string, cause: unknown, further: string): Failure {
  return unusable(readUrl(url), cause, further);
}

/** The servers that hold keys. */
export function listPrimaries(connection: Connection): readonly Redis[] {
  return connection instanceof Cluster ? connection.nodes('master') : [connection];
}

interface Address {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
}

/** @throws UsageError if the text is not a Redis URL. The message quotes nothing that may be a password. */
function readUrl(text: string): Address {
  const url = /^rediss?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const db = /^\/?(\d{0,9})$/.exec(url?.pathname ?? 'none')?.[1];
  try {
    if (url !== undefined && db !== undefined && url.search === '') {
      const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
      return {
        host: url.hostname === '' ? 'localhost' : url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port === '' ? 6379 : Number(url.port),
        db: Number(db),
        ...(username === '' ? {} : { username }),
        ...(password === '' ? {} : { password }),
        ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
      };
    }
  } catch {
    // A bare % in user or password: below.
  }
  const encoded = 'with % in user and password as encodeURIComponent writes it';
  throw new UsageError(`a Redis URL looks like redis://user:password@host:6379/0 (rediss: for TLS), ${encoded}`);
}

function withinTime<T>(promise: Promise<T>): Promise<T> {
  const late = sleep(PATIENCE_MS, undefined, { ref: false }).then((): never => {
    throw new Error(NO_ANSWER);
  });
  return Promise.race([promise, late]);
}

function unusable({ host, port }: Pick<Address, 'host' | 'port'>, cause: unknown, further = ''): Failure {
  // If a name has several addresses and none answers, the error has a code and no message.
  const { message, code } = cause as NodeJS.ErrnoException;
  const why = isLate(cause) ? NO_ANSWER : message || code;
  return new Failure(`cannot use Redis at ${host}:${String(port)}: ${String(why)}${further}`, { cause });
}
