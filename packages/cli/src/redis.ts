import { Cluster, Redis } from 'ioredis';
import { Failure, isLate, UsageError } from './failure.ts';

/** A connection that answers: to one server or, where that is part of one, to its cluster. */
export type Connection = Redis | Cluster;

/** How long a server may take to be reached, and to answer. */
const PATIENCE_MS = 3_000;
const NO_ANSWER = `no answer in ${String(PATIENCE_MS / 1_000)} s`;

/**
 * Connects to the server of a URL, or to the cluster that it is a node of.
 *
 * @throws (rejects) UsageError for what is no such URL; Failure, with the address and never the password, when nobody
 * answers there in three seconds.
 */
export async function connect(url: string): Promise<Connection> {
  const { host, port, db, ...access } = addressOf(url);
  const address = `${host}:${String(port)}`;
  const redis = new Redis({ ...OPTIONS, ...access, host, port, lazyConnect: true, retryStrategy: () => null });
  let trouble: Error | undefined;
  redis.on('error', (error: Error) => (trouble ??= error));
  const isCluster = redis.connect().then(async () => {
    await redis.time();
    // By hand: left to itself, the client goes on in database 0 when it may not have another one.
    if (db > 0) await redis.select(db);
    return (await redis.info('cluster').catch(() => '')).includes('cluster_enabled:1');
  });
  try {
    if (!(await inTime(isCluster))) return redis;
  } catch (error) {
    redis.disconnect();
    throw new Failure(`cannot use Redis at ${address}: ${reasonOf(trouble ?? error)}`, { cause: error });
  }
  redis.disconnect();
  if (db > 0) throw new UsageError(`a cluster of Redis has one database, and the URL names database ${String(db)}`);
  return connectCluster({ host, port }, address, access);
}

const OPTIONS = {
  family: 0,
  connectTimeout: PATIENCE_MS,
  // A server may stop answering at any command. Each has a time of its own: many of them may take as long as they take.
  commandTimeout: PATIENCE_MS,
  // What was asked has been answered by then; a timer would keep the process.
  disconnectTimeout: 50,
  maxRetriesPerRequest: 0,
  // Both would ask for more rights than there is need of.
  enableReadyCheck: false,
  disableClientInfo: true,
};

async function connectCluster(
  node: { host: string; port: number },
  address: string,
  access: Pick<Address, 'username' | 'password' | 'tls'>,
): Promise<Cluster> {
  const cluster = new Cluster([node], {
    lazyConnect: true,
    redisOptions: { ...OPTIONS, ...access },
    clusterRetryStrategy: () => null,
    enableReadyCheck: false,
    // Names of nodes are those that the certificates are for.
    ...(access.tls === undefined ? {} : { dnsLookup: asItIs }),
  });
  cluster.on('error', () => undefined);
  try {
    await inTime(cluster.connect());
    return cluster;
  } catch (error) {
    cluster.disconnect();
    throw new Failure(`cannot use the cluster of Redis at ${address}: ${reasonOf(error)}`, { cause: error });
  }
}

type Answer = (error: null, address: string) => void;

function asItIs(name: string, answer: Answer): void {
  answer(null, name);
}

/** What to say when a connection that was there gives no more answers, in the words of one that never was. */
export function silence(url: string, connection: Connection, cause: unknown): string {
  const { host, port } = addressOf(url);
  const what = connection instanceof Cluster ? 'the cluster of Redis' : 'Redis';
  // How long core waits is its own affair.
  const isCores = (cause as NodeJS.ErrnoException).code === 'SLUICE_STORE_TIMEOUT';
  return `cannot use ${what} at ${host}:${String(port)}: ${isCores ? 'no answer in time' : NO_ANSWER}`;
}

/** The servers that hold keys. */
export function primariesOf(connection: Connection): readonly Redis[] {
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

/** @throws UsageError for what is no URL of Redis. Nothing that may be a password is shown. */
function addressOf(text: string): Address {
  const url = /^rediss?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const db = /^\/?(\d{0,9})$/.exec(url?.pathname ?? 'none')?.[1];
  if (url === undefined || db === undefined || url.search !== '') throw new UsageError(EXPECTED);
  const [username, password] = [decoded(url.username), decoded(url.password)];
  return {
    host: url.hostname === '' ? 'localhost' : url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 6379 : Number(url.port),
    db: Number(db),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

const EXPECTED =
  'a Redis URL looks like redis://user:password@host:6379/0 (rediss: for TLS), with % in user and password as encodeURIComponent writes it';

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(EXPECTED);
  }
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(NO_ANSWER));
    }, PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Where a name has several addresses, and none of them answers, there is a code and no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isLate(error)) return NO_ANSWER;
  if (/RESP type|Protocol error/.test(error.message)) return 'what answers there does not speak the protocol of Redis';
  return error.message === '' ? String((error as NodeJS.ErrnoException).code) : error.message;
}
