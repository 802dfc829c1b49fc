import { SluiceError, type Store } from '@sluice/core';
import { readOptions } from '@sluice/core/spi';
import { ADDRESS_FORM, isLocal, parseAddress, type Address } from './transport/address.ts';
import type { CertificateFiles } from './transport/certificates.ts';
import type { Siblings } from './stats/siblings.ts';

/** Where a listener accepts connections: a port (on the loopback), `host:port`, or `off`. */
export type ListenerOption = number | string | false;

export interface ServerOptions {
  /** The file of limits, or the folder with its `.yaml` files. Read again when it changes. */
  readonly config: string;
  /**
   * Where counts are stored: a URL such as `redis://host:6379`, or the comma-separated URLs of a cluster's nodes.
   * Default: this process's memory.
   */
  readonly redis?: string | undefined;
  /** The prefix of all keys in Redis. Default `sluice`. */
  readonly prefix?: string | undefined;
  /** A store instead of `redis`, such as a `redisStore` with your own client. */
  readonly store?: Store | undefined;
  /** Envoy's rate limit service, gRPC. Default 8081. */
  readonly grpc?: ListenerOption | undefined;
  /** `/json`, `/auth`, `/v1`, `/healthcheck`, `/metrics`. Default 8080. */
  readonly http?: ListenerOption | undefined;
  /** Sentinel's cluster protocol, for its Java token clients. Default `off`; Sentinel's own port is 18730. */
  readonly sentinel?: ListenerOption | undefined;
  /** The operators' page, `/v1`, `/healthcheck`, `/metrics`. Default 6070. */
  readonly admin?: ListenerOption | undefined;
  /**
   * The secret of callers that may refund, charge, reset, block and read metrics if a listener is not on the loopback.
   */
  readonly token?: string | undefined;
  /**
   * TLS for gRPC and HTTP: files in PEM form, read again when they change. With `clientCa`, only clients with a
   * certificate of these authorities are served. Sentinel's clients have none.
   */
  readonly tls?: CertificateFiles | undefined;
  /**
   * The longest wait for Redis, in milliseconds, unless the caller's own deadline is shorter; a gRPC call's deadline
   * always counts. Default 100.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The longest wait for Redis on behalf of Sentinel's clients, in milliseconds, regardless of `timeoutMs`. Default 15:
   * they wait for 20.
   */
  readonly sentinelTimeoutMs?: number | undefined;
  /** The name of this service in the `apps` of managed policies. Default `sluice-server`. */
  readonly app?: string | undefined;
  /**
   * The maximum number of concurrent requests per listener. Further requests are rejected at once: RESOURCE_EXHAUSTED,
   * 503. Default 1024.
   */
  readonly maxInFlight?: number | undefined;
  /** How long `close` waits for running requests. Default 10 seconds. */
  readonly drainMs?: number | undefined;
  /** The other processes that share the listeners: `joinWorkers().siblings` in a worker of `superviseWorkers`. */
  readonly siblings?: Siblings | undefined;
  /** Called with what operators should know: an invalid file, a failed Redis. Default: a line on standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

export interface CloseOptions {
  /**
   * How long requests, even on new connections, are still served after health reports NOT_SERVING: longer than the
   * gateways' interval of health checks, so that they switch before this service is gone. Default 0.
   */
  readonly delayMs?: number | undefined;
}

export const LISTENERS = ['grpc', 'http', 'sentinel', 'admin'] as const;
export type ListenerName = (typeof LISTENERS)[number];

/** The checked options. */
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
/** The longest wait of a Node timer. */
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
  return (given, field) => {
    const address = parseAddress(given ?? byDefault);
    check(address !== null, field, ADDRESS_FORM, given);
    return address as Address | undefined;
  };
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
  // A short one can be guessed, and it protects operations that raise limits.
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
  // A certificate that no listener uses is a mistake: its owner believes that the traffic is encrypted.
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
  check(areUrls, 'redis', expected, typeof given === 'string' ? 'another string' : given); // which may hold a password
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

/** A row for an option that is kept unchanged. */
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
