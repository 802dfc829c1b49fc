import { SluiceError, type Store } from '@sluice/core';
import { readOptions } from '@sluice/core/spi';
import { isLocal, parseAddress, type Address } from './transport/address.ts';
import type { CertificateFiles } from './transport/certificates.ts';
import type { Siblings } from './stats/siblings.ts';

/** Where a listener accepts connections: a port (on the loopback), `host:port`, or `off`. */
export type ListenerOption = number | string | false;

export interface ServerOptions {
  /** The file of limits, or the folder with its `.yaml` files. Read again when it changes. */
  readonly config: string;
  /**
   * Where the counts are: a URL such as `redis://host:6379`, or several, by commas, of the nodes of a cluster. Default:
   * this process's memory.
   */
  readonly redis?: string | undefined;
  /** The prefix of all keys in Redis. Default `sluice`. */
  readonly prefix?: string | undefined;
  /** A store in place of `redis`, such as a `redisStore` of a client of your own. */
  readonly store?: Store | undefined;
  /** Envoy's rate limit service, gRPC. Default 8081. */
  readonly grpc?: ListenerOption | undefined;
  /** `/json`, `/auth`, `/v1`, `/healthcheck`, `/metrics`. Default 8080. */
  readonly http?: ListenerOption | undefined;
  /** Sentinel's cluster protocol, for the token clients of Java. Default `off`; Sentinel's own port is 18730. */
  readonly sentinel?: ListenerOption | undefined;
  /** The operators' page, `/v1`, `/healthcheck`, `/metrics`. Default 6070. */
  readonly admin?: ListenerOption | undefined;
  /**
   * The secret of callers that may refund, charge, reset, block and read metrics where a listener is not on the
   * loopback.
   */
  readonly token?: string | undefined;
  /**
   * TLS for gRPC and HTTP: files in PEM form, read again when they change. With `clientCa` only clients that have a
   * certificate of these authorities are served. Sentinel's clients have none.
   */
  readonly tls?: CertificateFiles | undefined;
  /**
   * The longest wait for Redis, in milliseconds, if the caller's own deadline is no shorter: that of a call of gRPC always
   * counts. Default 100.
   */
  readonly timeoutMs?: number | undefined;
  /** The longest wait of Sentinel's clients for Redis, in milliseconds, which `timeoutMs` does not change. Default 15: they wait for 20. */
  readonly sentinelTimeoutMs?: number | undefined;
  /** The name of this service on the lists of managed policies. Default `sluice-server`. */
  readonly app?: string | undefined;
  /**
   * Requests at once at most, of each listener. Further requests are turned away at once: RESOURCE_EXHAUSTED, 503.
   * Default 1024.
   */
  readonly maxInFlight?: number | undefined;
  /** How long `close` waits for requests that run. Default 10 seconds. */
  readonly drainMs?: number | undefined;
  /** The other processes that share the listeners: `joinWorkers().siblings` in a worker of `superviseWorkers`. */
  readonly siblings?: Siblings | undefined;
  /** Gets what operators should know: a file that cannot be used, a failed Redis. Default: a line on standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

export interface CloseOptions {
  /**
   * How long all is still served, new connections too, after health says NOT_SERVING: longer than the interval at which
   * gateways check health, so that they ask elsewhere before this one is gone. Default 0.
   */
  readonly delayMs?: number | undefined;
}

export const LISTENERS = ['grpc', 'http', 'sentinel', 'admin'] as const;
export type ListenerName = (typeof LISTENERS)[number];

/** The options as they are used. */
export interface Settings extends Required<Omit<ServerOptions, ListenerName | 'redis'>> {
  readonly redis: readonly string[] | undefined;
  readonly listeners: Readonly<Record<ListenerName, Address | undefined>>;
  readonly prefix: string;
  readonly app: string;
  readonly timeoutMs: number;
  readonly sentinelTimeoutMs: number;
  readonly maxInFlight: number;
  readonly drainMs: number;
  readonly log: (line: string) => void;
}

const MIN_TOKEN = 16;
/** The longest wait of a timer of Node. */
const MAX_MS: number = 2 ** 31 - 1;

type Reader<T> = (given: unknown, field: string) => T;

const text = (expected: string, byDefault?: string): Reader<string> =>
  row(expected, byDefault, (given) => typeof given === 'string' && given !== '');

const wholeNumber = (min: number, byDefault: number): Reader<number> =>
  row(
    `a whole number from ${String(min)} to ${String(MAX_MS)}`,
    byDefault,
    (given) => Number.isSafeInteger(given) && Number(given) >= min && Number(given) <= MAX_MS,
  );

const listener = (byDefault: ListenerOption): Reader<Address | undefined> => {
  return (given, field) => parseAddress(given ?? byDefault, field);
};

const SHAPE = {
  config: text('the path of a file of limits, or of a folder of them'),
  redis: readRedis,
  prefix: text('the prefix of all keys in Redis', 'sluice'),
  store: row<Store | undefined>('memoryStore() or redisStore(...)', undefined, (given) => {
    return given === undefined || typeof (Object(given) as Partial<Store>).perform === 'function';
  }),
  grpc: listener(8081),
  http: listener(8080),
  sentinel: listener('off'),
  admin: listener(6070),
  // A short one can be guessed: what it guards raises limits.
  token: (given: unknown): string | undefined => {
    const isLong = given === undefined || (typeof given === 'string' && given.length >= MIN_TOKEN);
    check(isLong, 'token', `at least ${String(MIN_TOKEN)} characters`, 'fewer');
    return given as string | undefined;
  },
  tls: readTlsOptions,
  timeoutMs: wholeNumber(1, 100),
  sentinelTimeoutMs: wholeNumber(1, 15),
  app: text('the name of this service on the lists of managed policies', 'sluice-server'),
  maxInFlight: wholeNumber(1, 1024),
  drainMs: wholeNumber(0, 10_000),
  siblings: (given: unknown): Siblings | undefined => given as Siblings | undefined,
  log: row<(line: string) => void>(
    'a function that takes a line',
    (line) => process.stderr.write(`${line}\n`),
    (given) => typeof given === 'function',
  ),
} satisfies Record<keyof ServerOptions, Reader<unknown>>;

/**
 * The options with their defaults, checked.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`, `SLUICE_OPTION_UNKNOWN`.
 */
export function parseServerOptions(options: ServerOptions): Settings {
  const { grpc, http, sentinel, admin, ...settings } = readOptions(options, SHAPE, 'createServer');
  const listeners = { grpc, http, sentinel, admin };
  const { store, redis, tls } = settings;
  check(store === undefined || redis === undefined, 'store', 'left out beside redis', store);
  const on = LISTENERS.filter((name) => listeners[name] !== undefined);
  check(on.length > 0, 'grpc', 'on, or one of http, sentinel and admin: a server needs a listener', 'off');
  // A certificate that no listener uses is a mistake: its owner believes that what is served is encrypted.
  const isGuarded = admin === undefined || isLocal(admin) || settings.token !== undefined;
  check(isGuarded, 'token', 'given (--token, SLUICE_TOKEN) where admin is not on the loopback', undefined);
  const isUsed = tls === undefined || listeners.grpc !== undefined || listeners.http !== undefined;
  check(isUsed, 'tls', 'left out: only grpc and http have TLS, and both are off', tls);
  return { ...settings, listeners };
}

function readRedis(given: unknown): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const urls = typeof given === 'string' ? given.split(',').map((url) => url.trim()) : [''];
  const areUrls = urls.every((url) => /^rediss?:\/\//i.test(url));
  const expected = 'a URL such as redis://host:6379, or several of a cluster, separated by commas';
  check(areUrls, 'redis', expected, typeof given === 'string' ? 'another text' : given); // which may hold a password
  return urls;
}

function readTlsOptions(given: unknown): CertificateFiles | undefined {
  if (given === undefined) return undefined;
  const { cert, key, clientCa } = (given ?? {}) as Partial<CertificateFiles>;
  const isPath = (path: unknown): boolean => typeof path === 'string' && path !== '';
  check(isPath(cert) && isPath(key), 'tls', '{ cert, key }, the paths of two PEM files', given);
  check(clientCa === undefined || isPath(clientCa), 'tls.clientCa', 'the path of a PEM file', clientCa);
  return given as CertificateFiles;
}

/** A row of an option that is kept as it is given. */
function row<T>(expected: string, byDefault: T | undefined, isGood: (given: unknown) => boolean): Reader<T> {
  return (given, field) => {
    const value = given ?? byDefault;
    check(isGood(value), field, expected, value);
    return value as T;
  };
}

function check(isGood: boolean, field: string, expected: string, got: unknown): void {
  if (isGood) return;
  const shown = typeof got === 'string' || typeof got === 'number' ? JSON.stringify(got) : typeof got;
  throw new SluiceError('SLUICE_OPTION_INVALID', `${field} must be ${expected}; got ${shown}`);
}
