import type { Store } from '@sluice/core';
import { readOptions } from '@sluice/core/spi';
import { check, isText, parseNumber } from './check-option.ts';
import { parseAddress, type Address } from './transport/address.ts';
import type { CertificateFiles } from './transport/certificates.ts';
import type { Siblings } from './stats/siblings.ts';

/** Where a listener accepts connections: a port (on the loopback), `host:port`, `unix:path`, or `off`. */
export type ListenerOption = number | string | false;

/**
 * Files in PEM form, read again when they change. With `clientCa` only clients that have a certificate of these
 * authorities are served.
 */
export interface TlsOptions extends CertificateFiles {
  /** The listeners that have TLS. Default `grpc` and `http`. */
  readonly listeners?: readonly TlsListenerName[] | undefined;
}

/** The listener of operators has no TLS: it is on the loopback, or needs a token. Sentinel's clients have none. */
const TLS_LISTENERS = ['grpc', 'http'] as const;
export type TlsListenerName = (typeof TLS_LISTENERS)[number];

export interface ServerOptions {
  /** The file of limits, or the folder with its `.yaml` files. Read again when it changes. */
  readonly config: string;
  /** Whether several files of a folder may have rules of one domain. Default false. */
  readonly mergeDomains?: boolean | undefined;
  /**
   * Where the counts are: a URL such as `redis://host:6379` or `unix:///path`, or several, by commas, of the nodes of a
   * cluster. Default: this process's memory.
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
  /** `/rlconfig`, `/stats`, `/metrics`. Default 6070. */
  readonly admin?: ListenerOption | undefined;
  /**
   * The secret of callers that may refund, charge, reset, block and read metrics where a listener is not on the
   * loopback.
   */
  readonly token?: string | undefined;
  /**
   * Names of this machine by which clients on it call its private listeners, beside `localhost` and addresses of the
   * loopback.
   */
  readonly hostNames?: readonly string[] | undefined;
  /** TLS for every listener but those of operators and of Sentinel, whose clients have none. */
  readonly tls?: TlsOptions | undefined;
  /** The longest wait for Redis, in milliseconds. Default 15: Envoy waits for 20. */
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
  /**
   * The age at which a gRPC connection gets a GOAWAY, up to 10 % more, so that connections spread over replicas. 0:
   * never. Default 24 hours.
   */
  readonly maxConnectionAgeMs?: number | undefined;
  /** How long `close` waits for requests that run. Default 10 seconds. */
  readonly drainMs?: number | undefined;
  /** The other processes that share the listeners: `joinWorkers().siblings` in a worker of `superviseWorkers`. */
  readonly siblings?: Siblings | undefined;
  /** Gets what operators should know: a file that cannot be used, a failed Redis. Default: a line on standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

export const LISTENERS = ['grpc', 'http', 'sentinel', 'admin'] as const;
export type ListenerName = (typeof LISTENERS)[number];

/** Whether a listener has TLS. */
export function hasTls(name: ListenerName, tls: TlsOptions | undefined): tls is TlsOptions {
  return tls !== undefined && (tls.listeners ?? TLS_LISTENERS).some((one) => one === name);
}

export interface Settings {
  readonly config: string;
  readonly mergeDomains: boolean;
  readonly redis: readonly string[] | undefined;
  readonly prefix: string;
  readonly store: Store | undefined;
  readonly listeners: Readonly<Record<ListenerName, Address | undefined>>;
  readonly token: string | undefined;
  readonly hostNames: readonly string[];
  readonly tls: TlsOptions | undefined;
  readonly timeoutMs: number;
  readonly sentinelTimeoutMs: number;
  readonly app: string;
  readonly maxInFlight: number;
  readonly maxConnectionAgeMs: number;
  readonly drainMs: number;
  readonly siblings: Siblings | undefined;
  readonly log: (line: string) => void;
}

const DEFAULTS: Readonly<Record<ListenerName, ListenerOption>> = {
  ...{ grpc: 8081, http: 8080, sentinel: 'off', admin: 6070 },
};
const SHORTEST_TOKEN = 16;
const DAY_MS = 86_400_000;
/** A hundred years, as in core. */
const LONGEST_AGE_MS: number = 36_500 * DAY_MS;

const OPTIONS: readonly (keyof ServerOptions)[] = [
  ...[
    'config',
    'mergeDomains',
    'redis',
    'prefix',
    'store',
    'grpc',
    'http',
    'sentinel',
    'admin',
    'token',
    'hostNames',
    'tls',
  ],
  ...['timeoutMs', 'sentinelTimeoutMs', 'app', 'maxInFlight', 'maxConnectionAgeMs', 'drainMs', 'siblings', 'log'],
] as (keyof ServerOptions)[];

/**
 * The options with their defaults, checked.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID`, `SLUICE_OPTION_UNKNOWN`.
 */
export function parseServerOptions(options: ServerOptions): Settings {
  check(
    typeof options === 'object' && (options as unknown) !== null,
    'options',
    'an object such as { config: "limits.yaml" }',
    options,
  );
  readOptions(options, Object.fromEntries(OPTIONS.map((name) => [name, () => undefined])), 'createServer');
  const { config, mergeDomains = false, store, token, hostNames = [], tls, app = 'sluice-server' } = options;
  check(isText(config), 'config', 'the path of a file of limits, or of a folder of them', config);
  check(typeof mergeDomains === 'boolean', 'mergeDomains', 'true or false', mergeDomains);
  check(
    store === undefined || typeof (store as Partial<Store> | null)?.perform === 'function',
    'store',
    'memoryStore() or redisStore(...)',
    store,
  );
  check(store === undefined || options.redis === undefined, 'store', 'left out beside redis', store);
  check(isText(app), 'app', 'the name of this service on the lists of managed policies', app);
  // A short one can be guessed: what it guards raises limits.
  check(
    token === undefined || (isText(token) && token.length >= SHORTEST_TOKEN),
    'token',
    `at least ${String(SHORTEST_TOKEN)} characters`,
    token === undefined ? token : 'fewer',
  );
  check(
    Array.isArray(hostNames) && hostNames.every((name: unknown) => isText(name) && /^[\w.-]+$/.test(name)),
    'hostNames',
    'a list of names such as ["limits.internal"], without ports',
    hostNames,
  );
  checkTls(tls);
  const listeners = parseListeners(options);
  checkTlsListeners(tls, listeners);
  return {
    ...{ config, mergeDomains, store, token, hostNames, tls, app },
    redis: parseRedis(options.redis),
    prefix: options.prefix ?? 'sluice',
    listeners,
    timeoutMs: parseNumber(options.timeoutMs, 15, 'timeoutMs', 1),
    sentinelTimeoutMs: parseNumber(options.sentinelTimeoutMs, 15, 'sentinelTimeoutMs', 1),
    maxInFlight: parseNumber(options.maxInFlight, 1024, 'maxInFlight', 1),
    maxConnectionAgeMs: parseNumber(options.maxConnectionAgeMs, DAY_MS, 'maxConnectionAgeMs', 0, LONGEST_AGE_MS),
    drainMs: parseNumber(options.drainMs, 10_000, 'drainMs', 0),
    siblings: options.siblings,
    log: options.log ?? ((line) => process.stderr.write(`${line}\n`)),
  };
}

function parseListeners(options: ServerOptions): Settings['listeners'] {
  const listeners = Object.fromEntries(
    LISTENERS.map((name) => [name, parseAddress(options[name] ?? DEFAULTS[name], name)]),
  ) as Settings['listeners'];
  check(
    LISTENERS.some((name) => listeners[name] !== undefined),
    'grpc',
    'on, or one of http, sentinel and admin: a server needs a listener',
    'off',
  );
  return listeners;
}

function parseRedis(given: unknown): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const urls = typeof given === 'string' ? given.split(',').map((url) => url.trim()) : [];
  const areUrls = urls.length > 0 && urls.every((url) => /^(rediss?|unix):\/\/|^\//.test(url));
  check(
    areUrls,
    'redis',
    'a URL such as redis://host:6379, or several of a cluster, separated by commas',
    typeof given === 'string' ? 'another text' : given,
  );
  return urls;
}

function checkTls(tls: unknown): void {
  if (tls === undefined) return;
  const { cert, key, clientCa, listeners = TLS_LISTENERS } = (tls ?? {}) as Partial<TlsOptions>;
  check(isText(cert) && isText(key), 'tls', '{ cert, key }, the paths of two PEM files', tls);
  check(clientCa === undefined || isText(clientCa), 'tls.clientCa', 'the path of a PEM file', clientCa);
  const areListeners =
    Array.isArray(listeners) &&
    listeners.length > 0 &&
    listeners.every((name: unknown) => TLS_LISTENERS.some((one) => one === name));
  const got = Array.isArray(listeners) ? listeners.join(',') : listeners;
  check(areListeners, 'tls.listeners', `a list of ${TLS_LISTENERS.join(', ')}`, got);
}

/** A certificate that no listener uses is a mistake: its owner believes that what is served is encrypted. */
function checkTlsListeners(tls: TlsOptions | undefined, listeners: Settings['listeners']): void {
  const isUsed = tls === undefined || LISTENERS.some((name) => listeners[name] !== undefined && hasTls(name, tls));
  check(isUsed, 'tls.listeners', 'listeners of which one is on', (tls?.listeners ?? TLS_LISTENERS).join(','));
}
