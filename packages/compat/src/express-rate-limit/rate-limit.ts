import type { NextFunction, Request, Response } from 'express';
import { readConfiguration, valueFor, writeOptions, type Configuration } from './configuration.ts';
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
import { takeBackAfter } from './take-back.ts';

/**
 * Middleware with the options, responses and header fields of express-rate-limit 8, counting with Sluice.
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
  const limit = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const takeBack = takeBackAfter(request, response, config);
    const isSkipped = await config.skip(request, response);
    const hits = isSkipped ? undefined : await count(request, response, config);
    if (hits === undefined) {
      next();
      return;
    }
    const info = await readInfo(hits, request, response, config);
    (request as AugmentedRequest)[config.requestPropertyName] = info;
    await sendFields(info, request, response, config);
    takeBack(info);
    // For a limit that is not a number, no hit is too many.
    if (!(info.used > info.limit) || config.mode === 'report') {
      next();
      return;
    }
    if (config.legacyHeaders || config.standardHeaders !== false) {
      const seconds = await valueFor(config.retryAfter, request, response);
      setRetryAfterHeader(response, info, config.windowMs, seconds);
    }
    await config.handler(request, response, next, options);
  };
  return Object.assign(
    async (request: Request, response: Response, next: NextFunction) => limit(request, response, next).catch(next),
    { resetKey: store.resetKey.bind(store), getKey: store.get?.bind(store) ?? throwNoGet },
  );
}

interface Hits extends ClientRateLimitInfo {
  readonly key: string;
}

/** The hits of a request's key, including this one; undefined if the store has failed and requests pass. */
async function count(
  request: Request,
  response: Response,
  { keyGenerator, store, passOnStoreError, logger }: Configuration,
): Promise<Hits | undefined> {
  const key = await keyGenerator(request, response);
  try {
    // Stores may change their object at the next hit.
    const { totalHits, resetTime } = await store.increment(key);
    return { key, totalHits, resetTime };
  } catch (error) {
    if (!passOnStoreError) throw error;
    logger.error(error, 'express-rate-limit: error from store, allowing request without rate-limiting.');
    return undefined;
  }
}

async function readInfo(
  { key, totalHits, resetTime }: Hits,
  request: Request,
  response: Response,
  { store, validations, limit: option }: Configuration,
): Promise<RateLimitInfo> {
  validations.positiveHits(totalHits);
  validations.singleCount(request, store, key);
  const limit = await valueFor(option, request, response);
  validations.limit(limit);
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key };
  // The former name of `used`, hidden from JSON.
  return Object.defineProperty(info, 'current', { value: totalHits });
}

async function sendFields(
  info: RateLimitInfo,
  request: Request,
  response: Response,
  { legacyHeaders, standardHeaders, identifier, validations, windowMs }: Configuration,
): Promise<void> {
  if (legacyHeaders) setLegacyHeaders(response, info);
  if (standardHeaders === false || response.headersSent) return;
  if (standardHeaders === 'draft-6') {
    setDraft6Headers(response, info, windowMs);
  } else if (standardHeaders === 'draft-7') {
    validations.headersResetTime(info.resetTime);
    setDraft7Headers(response, info, windowMs);
  } else if ((standardHeaders as string) === 'draft-8') {
    const name = await valueFor(identifier, request, response);
    validations.headersResetTime(info.resetTime);
    setDraft8Headers(response, info, windowMs, name, info.key);
  } else validations.headersDraftVersion(standardHeaders); // JavaScript can give any version
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

function throwNoGet(): never {
  throw new Error('The store of this limiter has no get: it cannot tell what a key has used');
}
