import type { NextFunction, Request, Response } from 'express';
import { configurationOf, optionsOf, type Configuration } from './configuration.ts';
import {
  setDraft6Headers,
  setDraft7Headers,
  setDraft8Headers,
  setLegacyHeaders,
  setRetryAfterHeader,
} from './headers.ts';
import { MemoryStore } from './memory-store.ts';
import type {
  AugmentedRequest,
  ClientRateLimitInfo,
  Options,
  RateLimitInfo,
  RateLimitOptions,
  RateLimitRequestHandler,
} from './options.ts';
import { SluiceBackedStore } from './sluice-backed-store.ts';
import { listen, takeBackAfter, type AfterResponse } from './take-back.ts';

/**
 * Middleware with the options, answers and header fields of express-rate-limit 8, which counts with Sluice.
 *
 * @throws TypeError for a store or a logger that is none. Other mistakes are logged: see the option `validate`.
 */
export function rateLimit(passedOptions: RateLimitOptions = {}): RateLimitRequestHandler {
  const config = configurationOf(passedOptions);
  const options = optionsOf(config);
  const { store, validations } = config;
  validations.creationStack(store);
  validations.unsharedStore(store);
  init(config, options);

  const middleware = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const after = listen(response, config);
    try {
      if (await enforce(request, response, config, after)) next();
      else await config.handler(request, response, next, options);
    } catch (error) {
      next(error);
    }
  };
  return Object.assign(middleware, {
    resetKey: store.resetKey.bind(store),
    getKey: store.get?.bind(store) ?? withoutGet,
  });
}

/** @returns Whether the request is allowed. */
async function enforce(
  request: Request,
  response: Response,
  config: Configuration,
  after: AfterResponse | undefined,
): Promise<boolean> {
  const skipped = config.skip(request, response);
  if (isPending(skipped) ? await skipped : skipped) return true;
  const keyed = config.keyGenerator(request, response);
  const key = isPending(keyed) ? await keyed : keyed;
  const counted = await count(request, response, config, key);
  if (counted === undefined) return true;

  const { info, totalHits } = counted;
  (request as AugmentedRequest)[config.requestPropertyName] = info;
  const sending = sendFields(request, response, config, info);
  if (sending !== undefined) await sending;
  if (after !== undefined) takeBackAfter(after, config, { request, response, key, resetTime: info.resetTime });
  if (totalHits <= info.limit || config.mode === 'report') return true;
  if (config.legacyHeaders || config.standardHeaders !== false) {
    const { retryAfter } = config;
    const seconds = typeof retryAfter === 'function' ? await retryAfter(request, response) : retryAfter;
    setRetryAfterHeader(response, info, config.windowMs, seconds);
  }
  return false;
}

/** Counts the hit. Undefined where the store failed, and requests are allowed then. */
async function count(
  request: Request,
  response: Response,
  config: Configuration,
  key: string,
): Promise<{ readonly info: RateLimitInfo; readonly totalHits: number } | undefined> {
  const { store, validations } = config;
  let limit: number | undefined;
  let hits: ClientRateLimitInfo;
  try {
    if (store instanceof MemoryStore || store instanceof SluiceBackedStore) {
      limit = typeof config.limit === 'function' ? await config.limit(request, response) : config.limit;
      hits = await store.increment(key, limit);
    } else hits = await store.increment(key);
  } catch (error) {
    if (!config.passOnStoreError) throw error;
    config.logger.error(error, 'express-rate-limit: error from store, allowing request without rate-limiting.');
    return undefined;
  }
  const { totalHits, resetTime } = hits;
  validations.positiveHits(totalHits);
  validations.singleCount(request, store, key);
  limit ??= typeof config.limit === 'function' ? await config.limit(request, response) : config.limit;
  validations.limit(limit);
  return { info: infoOf(limit, totalHits, resetTime, key), totalHits };
}

/** Values that are there already are not awaited, which costs as much as a count. */
function isPending<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function';
}

function infoOf(limit: number, used: number, resetTime: Date | undefined, key: string): RateLimitInfo {
  const info = { limit, used, remaining: Math.max(limit - used, 0), resetTime, key };
  // The former name of `used`, hidden from JSON.
  return Object.defineProperty(info, 'current', { value: used });
}

function sendFields(
  request: Request,
  response: Response,
  config: Configuration,
  info: RateLimitInfo,
): Promise<void> | undefined {
  const { standardHeaders, validations, windowMs } = config;
  if (config.legacyHeaders) setLegacyHeaders(response, info);
  if (standardHeaders === false || response.headersSent) return undefined;
  if (standardHeaders === 'draft-6') setDraft6Headers(response, info, windowMs);
  else if (standardHeaders === 'draft-7') {
    validations.headersResetTime(info.resetTime);
    setDraft7Headers(response, info, windowMs);
  } else if (isDraft8(standardHeaders)) return sendDraft8(request, response, config, info);
  else validations.headersDraftVersion(standardHeaders);
  return undefined;
}

/** JavaScript can give any version. */
function isDraft8(version: string): boolean {
  return version === 'draft-8';
}

async function sendDraft8(
  request: Request,
  response: Response,
  { identifier, validations, windowMs }: Configuration,
  info: RateLimitInfo,
): Promise<void> {
  const name = typeof identifier === 'function' ? await identifier(request, response) : identifier;
  validations.headersResetTime(info.resetTime);
  setDraft8Headers(response, info, windowMs, name, info.key);
}

/** Errors of `init` are logged, whether it throws or rejects. */
function init({ store, logger }: Configuration, options: Options): void {
  try {
    const started = store.init?.(options);
    started?.catch((error: unknown) => {
      logger.error(error, 'express-rate-limit: async error during store initialization.');
    });
  } catch (error) {
    logger.error(error, 'express-rate-limit: error during store initialization.');
  }
}

function withoutGet(): never {
  throw new Error('The store of this limiter has no get: it cannot tell what a key has used');
}
