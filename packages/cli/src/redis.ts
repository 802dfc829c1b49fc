import { Cluster, Redis } from 'ioredis';
import { Failure, isLate, UsageError } from '@sluice/simulate/terminal';

/** A working connection, to one server or to the cluster that it belongs to. */
export type Connection = Redis | Cluster;

/** The time limit to connect, and that of each command. */
const PATIENCE_MS = 3_000;
const NO_ANSWER = `no answer in ${String(PATIENCE_MS / 1_000)} s`;

/**
 * Connects to the server of a URL, or to the cluster that it is a node of.
 *
 * @throws (rejects) UsageError for an invalid URL; Failure, with the address and never the password, when no server
 * answers in three seconds.
 */
export async function connect(url: string): Promise<Connection> {
  const { host, port, db, ...access } = addressOf(url);
  const address = `${host}:${String(port)}`;
  const redis = new Redis({ ...OPTIONS, ...access, host, port, lazyConnect: true, retryStrategy: () => null });
  let trouble: Error | undefined;
  redis.on('error', (error: Error) => (trouble ??= error));
  const isCluster = redis.connect().then(async () => {
    await redis.time();
    // Selected by hand: ioredis itself would continue in database 0 when it may not select another one.
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
  if (db > 0) throw new UsageError(`a Redis cluster has only database 0; the URL names database ${String(db)}`);
  return connectCluster({ host, port }, address, access);
}

const OPTIONS = {
  family: 0,
  connectTimeout: PATIENCE_MS,
  // Per command, because a server may stop answering at any of them. The number of commands is not limited.
  commandTimeout: PATIENCE_MS,
  // All commands have ended by then; a longer timer would keep the process alive.
  disconnectTimeout: 50,
  maxRetriesPerRequest: 0,
  // Both would need further rights.
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
    // Keeps the names of nodes, which their certificates are issued for.
    ...(access.tls === undefined ? {} : { dnsLookup: asItIs }),
  });
  cluster.on('error', () => undefined);
  try {
    await inTime(cluster.connect());
    return cluster;
  } catch (error) {
    cluster.disconnect();
    throw new Failure(`cannot use the Redis cluster at ${address}: ${reasonOf(error)}`, { cause: error });
  }
}

type Answer = (error: null, address: string) => void;

function asItIs(name: string, answer: Answer): void {
  answer(null, name);
}

/** The message for a connection that stops answering, in the words for one that was never made. */
export function silence(url: string, connection: Connection, cause: unknown): string {
  const { host, port } = addressOf(url);
  const what = connection instanceof Cluster ? 'the Redis cluster' : 'Redis';
  // The time limit of core is not this one.
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

/** @throws UsageError when the text is not a Redis URL. The message quotes nothing that may be a password. */
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

/** When a name has several addresses and none answers, the error has a code and no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isLate(error)) return NO_ANSWER;
  if (/RESP type|Protocol error/.test(error.message)) return 'the server does not speak the Redis protocol';
  return error.message === '' ? String((error as NodeJS.ErrnoException).code) : error.message;
}
