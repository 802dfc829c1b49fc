import { isIPv6 } from 'node:net';
import type { Store as SluiceStore } from '@sluice/core';
import type { Request, Response } from 'express';
import { ExpressStore } from './express-store.ts';
import { ConsoleLogger } from './console-logger.ts';
import { ipKeyGenerator } from './ip-key-generator.ts';
import { MemoryStore } from './memory-store.ts';
import type {
  AugmentedRequest,
  DraftHeadersVersion,
  LegacyStore,
  Options,
  RateLimitExceededEventHandler,
  RateLimitOptions,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts';
import { getValidations, type Validations } from './validations.ts';

/** The options with their defaults. */
export interface Configuration extends Omit<Options, 'validate' | 'store' | 'standardHeaders' | 'handler'> {
  readonly handler: (...given: Parameters<RateLimitExceededEventHandler>) => void | Promise<void>;
  readonly store: Store;
  readonly standardHeaders: false | DraftHeadersVersion;
  readonly validations: Validations;
}

/**
 * The configuration of a limiter. Mistakes are logged, as express-rate-limit does.
 *
 * @throws TypeError for a bad store or logger.
 */
export function readConfiguration(passed: RateLimitOptions): Configuration {
  // An undefined option counts as absent.
  const given: RateLimitOptions = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined));
  const { validate = true, standardHeaders = false, logger = ConsoleLogger } = given;
  const { max, headers }: { readonly max?: Options['limit']; readonly headers?: boolean } = given;
  const validations = getValidations(validate, logger);
  checkOptions(given, validations);
  const config: Configuration = {
    windowMs: 60_000,
    limit: max ?? 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    legacyHeaders: headers ?? true,
    identifier: (request) => {
      const { limit } = (request as AugmentedRequest)[config.requestPropertyName] ?? {};
      return `${String(limit)}-in-${describeWindow(config.windowMs)}`;
    },
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, response) => response.statusCode < 400,
    skip: () => false,
    keyGenerator: async (request, response) => {
      const ip = checkAddress(request, validations);
      if (!isIPv6(ip)) return ip;
      const bits = await valueFor(config.ipv6Subnet, request, response);
      if (typeof config.ipv6Subnet === 'function') validations.ipv6Subnet(bits);
      return ipKeyGenerator(ip, bits);
    },
    ipv6Subnet: 56,
    handler: async (request, response) => {
      response.status(config.statusCode);
      const body: unknown = await valueFor(config.message as unknown, request, response);
      if (!response.writableEnded) response.send(body);
    },
    passOnStoreError: false,
    ...given,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
    store: readStore(given.store, validations),
    validations,
    logger,
  };
  return config;
}

/** Reads an option that may be a function of the request. */
export function valueFor<T>(
  option: T | ValueDeterminingMiddleware<T>,
  request: Request,
  response: Response,
): T | Promise<T> {
  return typeof option === 'function' ? (option as ValueDeterminingMiddleware<T>)(request, response) : option;
}

/** The options that `init` of a store and `handler` receive. */
export function writeOptions({ validations, ...options }: Configuration): Options {
  return { ...options, validate: validations.enabled };
}

function checkOptions(given: RateLimitOptions, validations: Validations): void {
  const { draft_polli_ratelimit_headers, onLimitReached } = given as Record<string, unknown>;
  validations.validationsConfig();
  validations.knownOptions(given);
  validations.draftPolliHeaders(draft_polli_ratelimit_headers);
  validations.onLimitReached(onLimitReached);
  // The result of a function is checked with each request.
  if (given.ipv6Subnet !== undefined && typeof given.ipv6Subnet !== 'function') {
    validations.ipv6Subnet(given.ipv6Subnet);
  }
  validations.keyGeneratorIpFallback(given.keyGenerator);
  validations.ipv6SubnetOrKeyGenerator(given);
}

function checkAddress(request: Request, validations: Validations): string {
  validations.ip(request.ip);
  validations.trustProxy(request);
  validations.xForwardedForHeader(request);
  validations.forwardedHeader(request);
  return request.ip as string;
}

/** @throws TypeError for an object that is not a store. */
function readStore(given: RateLimitOptions['store'], validations: Validations): Store {
  const store: object = given ?? new MemoryStore(validations);
  const typeOf = (name: string): string => typeof (store as Record<string, unknown>)[name];
  const isOptional = (name: string): boolean => ['function', 'undefined'].includes(typeOf(name));
  if (typeOf('increment') !== 'function') {
    if (typeOf('incr') === 'function') return promisify(store as LegacyStore);
    if (typeOf('perform') === 'function') {
      // The second of two limiters with one Sluice store is reported: they count the same hits.
      validations.unsharedStore(store);
      return new ExpressStore({ store: store as SluiceStore });
    }
  }
  const isStore = ['increment', 'decrement', 'resetKey'].every((name) => typeOf(name) === 'function');
  if (isStore && ['resetAll', 'init'].every(isOptional)) return store as Store;
  throw new TypeError(
    'store must be a Store of express-rate-limit (increment, decrement and resetKey), redisStore(...) or memoryStore()',
  );
}

/** Wraps a store with callbacks. */
function promisify(legacy: LegacyStore): Store {
  return {
    increment: (key) =>
      new Promise((resolve, reject) => {
        legacy.incr(key, (error, totalHits, resetTime) => {
          if (error) reject(error);
          else resolve({ totalHits, resetTime });
        });
      }),
    decrement: (key) => {
      legacy.decrement(key);
    },
    resetKey: (key) => {
      legacy.resetKey(key);
    },
    resetAll: () => legacy.resetAll?.(),
  };
}

const UNITS = [
  [86_400, 'day', 'days'],
  [3600, 'hr', 'hrs'],
  [60, 'min', 'min'],
  [0, 'sec', 'sec'],
] as const;

/** `2hrs`. */
function describeWindow(windowMs: number): string {
  const seconds = windowMs / 1000;
  const [unitS, one, several] = UNITS.find(([unit]) => seconds >= unit) ?? UNITS[3];
  const count = seconds / (unitS || 1);
  return `${String(count)}${count > 1 ? several : one}`;
}
