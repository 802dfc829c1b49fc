import type { Store as SluiceStore } from '@sluice/old-core';
import type { Request, Response } from 'express';
import { ConsoleLogger } from './console-logger.ts';
import { ipKeyGenerator } from './ip-key-generator.ts';
import { MemoryStore } from './memory-store.ts';
import type {
  AugmentedRequest,
  DraftHeadersVersion,
  Options,
  RateLimitExceededEventHandler,
  RateLimitOptions,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts';
import { SluiceBackedStore, isSluiceStore } from './sluice-backed-store.ts';
import { PromisifiedStore, checkStore, isLegacyStore } from './legacy-store.ts';
import { getValidations, type Validations } from './validations.ts';

/** The options with their defaults. */
export interface Configuration extends Omit<Options, 'validate' | 'store' | 'standardHeaders' | 'mode' | 'handler'> {
  readonly handler: (...given: Parameters<RateLimitExceededEventHandler>) => void | Promise<void>;
  readonly store: Store;
  readonly standardHeaders: false | DraftHeadersVersion;
  readonly mode: 'enforce' | 'report';
  readonly validations: Validations;
}

const SECONDS_A_MINUTE = 60;
const SECONDS_AN_HOUR = 3600;
const SECONDS_A_DAY = 86_400;

/**
 * The configuration of a limiter. What is wrong is logged, as express-rate-limit does.
 *
 * @throws TypeError for a store or a logger that is none.
 */
export function configurationOf(passed: RateLimitOptions): Configuration {
  const given = withoutUndefined(passed);
  const logger = given.logger ?? ConsoleLogger;
  const validations = getValidations(given.validate ?? true, logger);
  checkOptions(given, validations);
  const { standardHeaders = false, ...more } = given;
  delete more.validate;
  const { max, headers }: { readonly max?: Options['limit']; readonly headers?: boolean } = given;
  const config: Configuration = {
    windowMs: 60_000,
    limit: max ?? 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    legacyHeaders: headers ?? true,
    identifier: (request) => quotaName(limitOn(request, config), config.windowMs),
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, response) => response.statusCode < 400,
    skip: () => false,
    keyGenerator: (request, response) => keyOf(request, response, config),
    ipv6Subnet: 56,
    handler: (request, response) => deny(request, response, config),
    passOnStoreError: false,
    mode: 'enforce',
    ...more,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
    store: storeOf(given.store, validations),
    validations,
    logger,
  };
  checkStore(config.store);
  return config;
}

/** What `init` of a store and `handler` are given. */
export function optionsOf({ validations, ...options }: Configuration): Options {
  return { ...options, validate: validations.enabled };
}

/** The options that are not undefined, which is the same as left out. */
function withoutUndefined(options: RateLimitOptions): RateLimitOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function checkOptions(given: RateLimitOptions, validations: Validations): void {
  const { draft_polli_ratelimit_headers, onLimitReached } = given as Record<string, unknown>;
  validations.validationsConfig();
  validations.knownOptions(given);
  validations.draftPolliHeaders(draft_polli_ratelimit_headers);
  validations.onLimitReached(onLimitReached);
  // That of a function is checked with each request.
  if (given.ipv6Subnet !== undefined && typeof given.ipv6Subnet !== 'function')
    validations.ipv6Subnet(given.ipv6Subnet);
  validations.keyGeneratorIpFallback(given.keyGenerator);
  validations.ipv6SubnetOrKeyGenerator(given);
}

function storeOf(given: RateLimitOptions['store'], validations: Validations): Store {
  if (given === undefined) return new MemoryStore(validations);
  if (isLegacyStore(given)) return new PromisifiedStore(given);
  return isSluiceStore(given) ? backedBy(given, validations) : given;
}

/** Of two limiters that are given one store of Sluice, the second one is told: they count the same hits. */
function backedBy(store: SluiceStore, validations: Validations): SluiceBackedStore {
  validations.unsharedStore(store as Partial<Store> as Store);
  return new SluiceBackedStore({ store });
}

function keyOf(request: Request, response: Response, config: Configuration): string | Promise<string> {
  const { ip } = request;
  const { ipv6Subnet, validations } = config;
  validations.ip(ip);
  validations.trustProxy(request);
  validations.xForwardedForHeader(request);
  validations.forwardedHeader(request);
  if (typeof ip !== 'string' || !ip.includes(':')) return ip as unknown as string; // which is no IPv6 address
  return typeof ipv6Subnet === 'function'
    ? keyInSubnet(ip, ipv6Subnet(request, response), validations)
    : ipKeyGenerator(ip, ipv6Subnet);
}

async function keyInSubnet(ip: string, subnet: number | Promise<number>, validations: Validations): Promise<string> {
  const bits = await subnet;
  validations.ipv6Subnet(bits);
  return ipKeyGenerator(ip, bits);
}

async function deny(request: Request, response: Response, { statusCode, message }: Configuration): Promise<void> {
  response.status(statusCode);
  const given: unknown = message;
  const isFunction = typeof given === 'function';
  const body = isFunction ? await (given as ValueDeterminingMiddleware<unknown>)(request, response) : given;
  if (!response.writableEnded) response.send(body);
}

function limitOn(request: Request, { requestPropertyName }: Configuration): number | undefined {
  return (request as AugmentedRequest)[requestPropertyName]?.limit;
}

/** `5-in-2hrs`. */
function quotaName(limit: number | undefined, windowMs: number): string {
  const seconds = windowMs / 1000;
  const named = (unit: number, name: string, plural = name): string => {
    const count = seconds / unit;
    return `${String(limit)}-in-${String(count)}${count > 1 ? plural : name}`;
  };
  if (seconds < SECONDS_A_MINUTE) return named(1, 'sec');
  if (seconds < SECONDS_AN_HOUR) return named(SECONDS_A_MINUTE, 'min');
  if (seconds < SECONDS_A_DAY) return named(SECONDS_AN_HOUR, 'hr', 'hrs');
  return named(SECONDS_A_DAY, 'day', 'days');
}
