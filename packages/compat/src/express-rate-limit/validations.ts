import { isIP } from 'node:net';
import type { Request } from 'express';
import { SUPPORTED_DRAFT_VERSIONS } from './headers.ts';
import type { EnabledValidations, Logger, Options, Store, ValidationName } from './options.ts';

/** What a check has found; `code` is that of express-rate-limit. */
class ValidationError extends Error {
  readonly code: string;
  /** The page about it. */
  readonly help: string;

  constructor(code: string, message: string) {
    const help = `https://express-rate-limit.github.io/${code}/`;
    super(`${message} See ${help} for more information.`);
    this.name = this.constructor.name;
    this.code = code;
    this.help = help;
  }
}

/** A check that has found what another version does otherwise: a warning. */
class ChangeWarning extends ValidationError {}

const usedStores = new WeakSet<Store>();

/** Per request the keys counted, by store; stores without local keys by their class, which then shares them. */
const countedKeys = new WeakMap<Request, Map<unknown, Set<string>>>();

/** The options that are known, those of express-slow-down among them. */
const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  ...([
    'windowMs',
    'limit',
    'message',
    'statusCode',
    'legacyHeaders',
    'standardHeaders',
    'identifier',
    'retryAfter',
    'requestPropertyName',
    'skipFailedRequests',
    'skipSuccessfulRequests',
    'keyGenerator',
    'ipv6Subnet',
    'handler',
    'skip',
    'requestWasSuccessful',
    'store',
    'validate',
    'headers',
    'max',
    'passOnStoreError',
    'logger',
    'mode',
  ] satisfies (keyof Options)[]),
  ...['draft_polli_ratelimit_headers', 'delayAfter', 'delayMs', 'maxDelayMs'],
]);

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The checks, by the names that `validate` turns them off with. Each throws what it finds. */
const CHECKS = {
  ip(ip: string | undefined): void {
    if (ip === undefined) {
      throw new ValidationError(
        'ERR_ERL_UNDEFINED_IP_ADDRESS',
        'request.ip is undefined: the connection has ended early, or the application is not set up for its proxy.',
      );
    }
    if (isIP(ip) === 0) {
      throw new ValidationError(
        'ERR_ERL_INVALID_IP_ADDRESS',
        `request.ip is no address (${ip}). Write a keyGenerator for what it is.`,
      );
    }
  },

  trustProxy(request: Request): void {
    if (request.app.get('trust proxy') !== true) return;
    throw new ValidationError(
      'ERR_ERL_PERMISSIVE_TRUST_PROXY',
      "'trust proxy' is true: every client can choose its own address, and so escape limits by address.",
    );
  },

  xForwardedForHeader(request: Request): void {
    if (!request.headers['x-forwarded-for'] || request.app.get('trust proxy') !== false) return;
    throw new ValidationError(
      'ERR_ERL_UNEXPECTED_X_FORWARDED_FOR',
      "A request has X-Forwarded-For, but 'trust proxy' is false: all clients behind the proxy count as one address.",
    );
  },

  forwardedHeader({ headers, ip, socket }: Request): void {
    // An address that is not the socket's was set by middleware that has read the field.
    if (!headers.forwarded || ip !== (socket as Request['socket'] | undefined)?.remoteAddress) return;
    throw new ValidationError(
      'ERR_ERL_FORWARDED_HEADER',
      'A request has the field Forwarded, which Express does not read. Write a keyGenerator that does.',
    );
  },

  positiveHits(hits: unknown): void {
    if (typeof hits === 'number' && hits >= 1 && Number.isInteger(hits)) return;
    throw new ValidationError(
      'ERR_ERL_INVALID_HITS',
      `The store returned ${String(hits)} as totalHits, which must be a whole number of at least 1.`,
    );
  },

  unsharedStore(store: Store): void {
    if (usedStores.has(store)) {
      const hint = store.localKeys === true ? '' : ' (with a unique prefix)';
      throw new ValidationError(
        'ERR_ERL_STORE_REUSE',
        `Two limiters share one store, and count each other's hits. Make a ${store.constructor.name}${hint} for each.`,
      );
    }
    usedStores.add(store);
  },

  singleCount(request: Request, store: Store, key: string): void {
    const byStore = countedKeys.get(request) ?? new Map<unknown, Set<string>>();
    countedKeys.set(request, byStore);
    const place = store.localKeys === true ? store : store.constructor.name;
    const keys = byStore.get(place) ?? new Set<string>();
    byStore.set(place, keys);
    const whole = `${store.prefix ?? ''}${key}`;
    if (keys.has(whole)) {
      throw new ValidationError('ERR_ERL_DOUBLE_COUNT', `One request has counted twice for the key ${key}.`);
    }
    keys.add(whole);
  },

  limit(limit: number): void {
    if (limit !== 0) return;
    throw new ChangeWarning('WRN_ERL_MAX_ZERO', 'A limit of 0 denies all requests; up to version 6 it allowed them.');
  },

  draftPolliHeaders(given?: unknown): void {
    if (!given) return;
    throw new ChangeWarning(
      'WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS',
      "draft_polli_ratelimit_headers was removed in version 7. Write standardHeaders: 'draft-6'.",
    );
  },

  onLimitReached(given?: unknown): void {
    if (!given) return;
    throw new ChangeWarning(
      'WRN_ERL_DEPRECATED_ON_LIMIT_REACHED',
      'onLimitReached was removed in version 7. Write a handler.',
    );
  },

  headersDraftVersion(version?: unknown): void {
    if ((SUPPORTED_DRAFT_VERSIONS as readonly unknown[]).includes(version)) return;
    throw new ValidationError(
      'ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION',
      `standardHeaders must be one of ${SUPPORTED_DRAFT_VERSIONS.join(', ')}, true or false.`,
    );
  },

  headersResetTime(resetTime?: Date): void {
    if (resetTime) return;
    throw new ValidationError(
      'ERR_ERL_HEADERS_NO_RESET',
      'The store returned no resetTime: header fields state the length of the window, and clients wait too long.',
    );
  },

  knownOptions(options?: object): void {
    const unknown = Object.keys(options ?? {}).find((name) => !KNOWN_OPTIONS.has(name));
    if (unknown === undefined) return;
    throw new ValidationError('ERR_ERL_UNKNOWN_OPTION', `There is no option ${unknown}.`);
  },

  /** Called on the checks of one limiter. */
  validationsConfig(this: { readonly enabled: object }): void {
    const names = [...Object.keys(CHECKS), 'default'];
    const unknown = Object.keys(this.enabled).find((name) => !names.includes(name));
    if (unknown === undefined) return;
    throw new ValidationError(
      'ERR_ERL_UNKNOWN_VALIDATION',
      `There is no check validate.${unknown}. Known: ${names.join(', ')}.`,
    );
  },

  creationStack(store: Store): void {
    const { stack = '' } = new Error('where the limiter is made');
    // Express 4, and 5
    if (!stack.includes('Layer.handle [as handle_request]') && !stack.includes('Layer.handleRequest')) return;
    const usually = store.localKeys === true ? '' : ' *usually*';
    throw new ValidationError(
      'ERR_ERL_CREATED_IN_REQUEST_HANDLER',
      `A limiter should${usually} be made when the application starts, and not while it answers a request.`,
    );
  },

  ipv6Subnet(bits?: unknown): void {
    if (bits === false || (Number.isInteger(bits) && Number(bits) >= 32 && Number(bits) <= 64)) return;
    throw new ValidationError(
      'ERR_ERL_IPV6_SUBNET',
      `ipv6Subnet must be a whole number from 32 to 64 (usually 48 to 64) or false, got ${String(bits)}.`,
    );
  },

  ipv6SubnetOrKeyGenerator({
    ipv6Subnet,
    keyGenerator,
  }: {
    readonly ipv6Subnet?: unknown;
    readonly keyGenerator?: unknown;
  }): void {
    if (ipv6Subnet === undefined || !keyGenerator) return;
    throw new ValidationError(
      'ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR',
      'ipv6Subnet has no effect beside a keyGenerator: leave one of the two out.',
    );
  },

  keyGeneratorIpFallback(keyGenerator?: (...args: never[]) => unknown): void {
    const source = keyGenerator?.toString() ?? '';
    if (!/req(uest)?\.ip/.test(source) || source.includes('ipKeyGenerator')) return;
    throw new ValidationError(
      'ERR_ERL_KEY_GEN_IPV6',
      'The keyGenerator reads request.ip without ipKeyGenerator: a client with IPv6 has as many keys as addresses.',
    );
  },

  windowMs(windowMs: unknown): void {
    if (typeof windowMs === 'number' && windowMs >= 1 && windowMs <= LONGEST_TIMER_MS) return;
    const type = typeof windowMs === 'number' ? '' : ` (${typeof windowMs})`;
    throw new ValidationError(
      'ERR_ERL_WINDOW_MS',
      `windowMs must be from 1 to ${String(LONGEST_TIMER_MS)} with a MemoryStore, got ${String(windowMs)}${type}.`,
    );
  },
} satisfies Record<ValidationName, (...args: never[]) => void>;

/** The checks of one limiter. Each runs once, and logs what it finds. */
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
 * @throws TypeError for a logger that is none.
 */
export function getValidations(validate: boolean | EnabledValidations, logger: Logger): Validations {
  checkLogger(logger);
  const enabled: Record<string, boolean> =
    typeof validate === 'boolean' ? { default: validate } : { default: true, ...validate };
  const disable = (): void => {
    for (const name of Object.keys(enabled)) enabled[name] = false;
  };
  const validations = { enabled, disable } as Validations;
  for (const [name, check] of Object.entries(CHECKS)) {
    Object.assign(validations, { [name]: onceLogged(name, check as Check, validations, logger) });
  }
  // A log of the options shows what is on, not the functions.
  Object.assign(validations, { [Symbol.for('nodejs.util.inspect.custom')]: () => enabled });
  return validations;
}

type Check = (this: Validations, ...args: unknown[]) => void;

function onceLogged(name: string, check: Check, validations: Validations, logger: Logger): Check {
  const { enabled } = validations;
  return (...args) => {
    if (!(enabled[name] ?? enabled['default'])) return;
    enabled[name] = false;
    try {
      check.apply(validations, args);
    } catch (error) {
      if (error instanceof ChangeWarning) logger.warn(error);
      else logger.error(error);
    }
  };
}

function checkLogger(logger: Logger): void {
  const { error, warn } = logger as Record<keyof Logger, unknown>;
  if (typeof error === 'function' && typeof warn === 'function') return;
  throw new TypeError('logger must have the functions error and warn: the Logger interface of express-rate-limit');
}
