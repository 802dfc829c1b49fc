import { isIP } from 'node:net';
import type { Request } from 'express';
import type { Logger } from './console-logger.ts';

export const SUPPORTED_DRAFT_VERSIONS: readonly string[] = ['draft-6', 'draft-7', 'draft-8'];

/** The parts of a store that checks read. */
interface StoreFacts {
  readonly localKeys?: boolean;
  readonly prefix?: string;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

type Code = `${'ERR' | 'WRN'}_ERL_${string}`;

/** A code, and the wrong value. */
type Finding = readonly [code: Code, value?: string | undefined] | false;

class ValidationError extends Error {
  override readonly name = 'ValidationError';
  readonly code: Code;
  /** The page about it. */
  readonly help: string;

  constructor(code: Code, value?: string) {
    const help = `https://express-rate-limit.github.io/${code}/`;
    super(`${code}${value === undefined ? '' : ` (${value})`}: see ${help}`);
    this.code = code;
    this.help = help;
  }
}

const usedStores = new WeakSet<object>();

/** The keys counted for each request, by store; stores without local keys share theirs, by class. */
const countedKeys = new WeakMap<Request, Map<unknown, Set<string>>>();

/** The known options, including those of express-slow-down. */
const KNOWN_OPTIONS = new Set(
  (
    'windowMs limit message statusCode legacyHeaders standardHeaders identifier retryAfter requestPropertyName ' +
    'skipFailedRequests skipSuccessfulRequests keyGenerator ipv6Subnet handler skip requestWasSuccessful store ' +
    'validate headers max passOnStoreError logger mode draft_polli_ratelimit_headers delayAfter delayMs maxDelayMs'
  ).split(' '),
);

/** The checks, by the names that `validate` turns them off with. */
const CHECKS = {
  ip: (ip: string | undefined): Finding =>
    ip === undefined ? ['ERR_ERL_UNDEFINED_IP_ADDRESS'] : isIP(ip) === 0 && ['ERR_ERL_INVALID_IP_ADDRESS', ip],
  trustProxy: ({ app }: Request): Finding => app.get('trust proxy') === true && ['ERR_ERL_PERMISSIVE_TRUST_PROXY'],
  xForwardedForHeader: ({ app, headers }: Request): Finding =>
    headers['x-forwarded-for'] !== undefined &&
    app.get('trust proxy') === false && ['ERR_ERL_UNEXPECTED_X_FORWARDED_FOR'],
  // An address other than the socket's was set by middleware that read the field.
  forwardedHeader: ({ headers, ip, socket }: Request): Finding =>
    headers.forwarded !== undefined &&
    ip === (socket as Partial<Request['socket']> | undefined)?.remoteAddress && ['ERR_ERL_FORWARDED_HEADER'],
  positiveHits: (hits: unknown): Finding =>
    !(Number.isInteger(hits) && Number(hits) >= 1) && ['ERR_ERL_INVALID_HITS', String(hits)],
  unsharedStore: (store: StoreFacts): Finding => {
    const isUsed = usedStores.has(store);
    usedStores.add(store);
    const { name } = store.constructor;
    return isUsed && ['ERR_ERL_STORE_REUSE', store.localKeys === true ? name : `${name}, without a unique prefix`];
  },
  singleCount: (request: Request, store: StoreFacts, key: string): Finding => {
    const byStore = countedKeys.get(request) ?? new Map<unknown, Set<string>>();
    countedKeys.set(request, byStore);
    const place = store.localKeys === true ? store : store.constructor.name;
    const keys = byStore.get(place) ?? new Set();
    byStore.set(place, keys);
    const whole = `${store.prefix ?? ''}${key}`;
    const isCounted = keys.has(whole);
    keys.add(whole);
    return isCounted && ['ERR_ERL_DOUBLE_COUNT', key];
  },
  limit: (limit: number): Finding => limit === 0 && ['WRN_ERL_MAX_ZERO'],
  draftPolliHeaders: (given?: unknown): Finding => Boolean(given) && ['WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS'],
  onLimitReached: (given?: unknown): Finding => Boolean(given) && ['WRN_ERL_DEPRECATED_ON_LIMIT_REACHED'],
  headersDraftVersion: (version?: unknown): Finding =>
    !SUPPORTED_DRAFT_VERSIONS.some((known) => known === version) && [
      'ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION',
      String(version),
    ],
  headersResetTime: (resetTime?: Date): Finding => !resetTime && ['ERR_ERL_HEADERS_NO_RESET'],
  knownOptions: (options: object = {}): Finding => {
    const unknown = Object.keys(options).find((name) => !KNOWN_OPTIONS.has(name));
    return unknown !== undefined && ['ERR_ERL_UNKNOWN_OPTION', unknown];
  },
  /** Called on the checks of one limiter. */
  validationsConfig(this: { readonly enabled: object }): Finding {
    const unknown = Object.keys(this.enabled).find((name) => !(name in CHECKS) && name !== 'default');
    return unknown !== undefined && ['ERR_ERL_UNKNOWN_VALIDATION', unknown];
  },
  // The layers of Express 4, and 5.
  creationStack: (_store: StoreFacts): Finding =>
    /Layer\.handle(Request| \[as handle_request\])/.test(new Error().stack ?? '') && [
      'ERR_ERL_CREATED_IN_REQUEST_HANDLER',
    ],
  ipv6Subnet: (bits?: unknown): Finding =>
    bits !== false &&
    !(Number.isInteger(bits) && Number(bits) >= 32 && Number(bits) <= 64) && ['ERR_ERL_IPV6_SUBNET', String(bits)],
  ipv6SubnetOrKeyGenerator: (options: { readonly ipv6Subnet?: unknown; readonly keyGenerator?: unknown }): Finding =>
    options.ipv6Subnet !== undefined && Boolean(options.keyGenerator) && ['ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR'],
  keyGeneratorIpFallback: (keyGenerator: ((...args: never[]) => unknown) | undefined): Finding => {
    const source = keyGenerator?.toString() ?? '';
    return /req(uest)?\.ip/.test(source) && !source.includes('ipKeyGenerator') && ['ERR_ERL_KEY_GEN_IPV6'];
  },
  windowMs: (windowMs: unknown): Finding =>
    !(typeof windowMs === 'number' && windowMs >= 1 && windowMs <= MAX_TIMER_MS) && [
      'ERR_ERL_WINDOW_MS',
      String(windowMs),
    ],
};

type ValidationName = keyof typeof CHECKS;

/** Which checks run, by name; `default` applies to the others. */
export type EnabledValidations = { [Name in ValidationName | 'default']?: boolean };

/** The checks of one limiter. Each runs once, and logs its findings. */
export type Validations = {
  [Name in ValidationName]: (...args: Parameters<(typeof CHECKS)[Name]>) => void;
} & {
  /** Which of them will still run. */
  readonly enabled: Record<string, boolean>;
  /** Turns all of them off. */
  disable(): void;
};

/**
 * @param validate - The option: all or none, or by name.
 * @throws TypeError for a bad logger.
 */
export function getValidations(validate: boolean | EnabledValidations, logger: Logger): Validations {
  const { error, warn } = logger as Record<keyof Logger, unknown>;
  if (typeof error !== 'function' || typeof warn !== 'function') {
    throw new TypeError('logger must have the functions error and warn: the Logger interface of express-rate-limit');
  }
  const enabled: Record<string, boolean> =
    typeof validate === 'boolean' ? { default: validate } : { default: true, ...validate };
  const disable = (): void => {
    for (const name of Object.keys(enabled)) enabled[name] = false;
  };
  const validations = { enabled, disable };
  for (const [name, check] of Object.entries(CHECKS)) {
    const checkOnce = (...args: unknown[]): void => {
      if (!(enabled[name] ?? enabled['default'])) return;
      enabled[name] = false;
      try {
        const found = (check as (...given: unknown[]) => Finding).apply(validations, args);
        if (found !== false) logger[found[0].startsWith('WRN') ? 'warn' : 'error'](new ValidationError(...found));
      } catch (cause) {
        logger.error(cause); // such as that of a request without an application
      }
    };
    Object.assign(validations, { [name]: checkOnce });
  }
  return validations as unknown as Validations;
}
