import type { NextFunction, Request, Response } from 'express';
import { readConfiguration, writeOptions, type Configuration } from './configuration.ts';
import {
  setDraft6Headers,
  setDraft7Headers,
  setDraft8Headers,
  setLegacyHeaders,
  setRetryAfterHeader,
} from './headers.ts';
import type {
  AugmentedRequest,
  ClientRateLimitInfo,
  Options,
  RateLimitInfo,
  RateLimitOptions,
  RateLimitRequestHandler,
} from './options.ts';
import { listenForEnds, takeBackAfter } from './take-back.ts';

/**
 * Middleware with the options, answers and header fields of express-rate-limit 8, which counts with Sluice.
 *
 * @throws TypeError for a bad store or logger. Other mistakes are logged: see the option `validate`.
 */
export function rateLimit(passedOptions: RateLimitOptions = {}): RateLimitRequestHandler {
  const config = readConfiguration(passedOptions);
  const options = writeOptions(config);
  const { store, validations } = config;
  validations.creationStack(store);
  validations.unsharedStore(store);
  init(config, options);
  const middleware = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      await limitRequest({ request, response, next, config, options });
    } catch (error) {
      next(error);
    }
  };
  return Object.assign(middleware, {
    resetKey: store.resetKey.bind(store),
    getKey: store.get?.bind(store) ?? withoutGet,
  });
}

/** A request, while it is decided. */
interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly next: NextFunction;
  readonly config: Configuration;
  readonly options: Options;
}

async function limitRequest(exchange: Exchange): Promise<void> {
  const { request, response, next, config, options } = exchange;
  const ends = listenForEnds(response, config);
  if (await config.skip(request, response)) {
    next();
    return;
  }
  const key = await config.keyGenerator(request, response);
  const hits = await count(key, config);
  if (hits === undefined) {
    next();
    return;
  }
  const info = await readInfo(key, hits, exchange);
  (request as AugmentedRequest)[config.requestPropertyName] = info;
  await sendFields(info, exchange);
  takeBackAfter(ends, config, { request, response, key, endsMs: info.resetTime?.getTime() });
  if (info.used > info.limit && config.mode !== 'report') {
    await sendRetryAfter(info, exchange);
    await config.handler(request, response, next, options);
  } else next();
}

/** The hits of a key with this one; undefined if the store has failed, and requests pass then. */
async function count(
  key: string,
  { store, passOnStoreError, logger }: Configuration,
): Promise<ClientRateLimitInfo | undefined> {
  try {
    // Stores may change their object with the next hit.
    const { totalHits, resetTime } = await store.increment(key);
    return { totalHits, resetTime };
  } catch (error) {
    if (!passOnStoreError) throw error;
    logger.error(error, 'express-rate-limit: error from store, allowing request without rate-limiting.');
    return undefined;
  }
}

async function readInfo(
  key: string,
  { totalHits, resetTime }: ClientRateLimitInfo,
  { request, response, config }: Exchange,
): Promise<RateLimitInfo> {
  const { store, validations } = config;
  validations.positiveHits(totalHits);
  validations.singleCount(request, store, key);
  const limit = await (typeof config.limit === 'function' ? config.limit(request, response) : config.limit);
  validations.limit(limit);
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key };
  // The former name of `used`, hidden from JSON.
  return Object.defineProperty(info, 'current', { value: totalHits });
}

async function sendFields(info: RateLimitInfo, { request, response, config }: Exchange): Promise<void> {
  const { standardHeaders, identifier, validations, windowMs } = config;
  if (config.legacyHeaders) setLegacyHeaders(response, info);
  if (standardHeaders === false || response.headersSent) return;
  switch (standardHeaders) {
    case 'draft-6':
      setDraft6Headers(response, info, windowMs);
      break;
    case 'draft-7':
      validations.headersResetTime(info.resetTime);
      setDraft7Headers(response, info, windowMs);
      break;
    case 'draft-8': {
      const name = await (typeof identifier === 'function' ? identifier(request, response) : identifier);
      validations.headersResetTime(info.resetTime);
      setDraft8Headers(response, info, windowMs, name, info.key);
      break;
    }
    default: // JavaScript can give any version
      validations.headersDraftVersion(standardHeaders);
  }
}

async function sendRetryAfter(info: RateLimitInfo, { request, response, config }: Exchange): Promise<void> {
  const { retryAfter, legacyHeaders, standardHeaders, windowMs } = config;
  if (!legacyHeaders && standardHeaders === false) return;
  const seconds = await (typeof retryAfter === 'function' ? retryAfter(request, response) : retryAfter);
  setRetryAfterHeader(response, info, windowMs, seconds);
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
