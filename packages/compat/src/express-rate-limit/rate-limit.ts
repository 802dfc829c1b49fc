import { isThenable, mapMaybe } from '@sluice/old-http/spi';
import type { NextFunction, Request, Response } from 'express';
import { configurationOf, optionsOf, type Configuration } from './configuration.ts';
import {
  setDraft6Headers,
  setDraft7Headers,
  setDraft8Headers,
  setLegacyHeaders,
  setRetryAfterHeader,
} from './headers.ts';
import { MemoryStore, hitInMemory } from './memory-store.ts';
import type {
  AugmentedRequest,
  ClientRateLimitInfo,
  Options,
  RateLimitInfo,
  RateLimitOptions,
  RateLimitRequestHandler,
} from './options.ts';
import { SluiceBackedStore, hitBacked } from './sluice-backed-store.ts';
import { listen, takeBackAfter, type AfterResponse } from './take-back.ts';

/** What the middleware returns when it has decided in the same tick: express-rate-limit always returns a promise. */
const DONE = Promise.resolve();

// As they are before anyone spies on them.
/* eslint-disable @typescript-eslint/unbound-method -- compared, and not called */
const incrementInMemory = MemoryStore.prototype.increment;
const incrementBacked = SluiceBackedStore.prototype.increment;
/* eslint-enable @typescript-eslint/unbound-method */

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

  const middleware = (request: Request, response: Response, next: NextFunction): Promise<void> => {
    try {
      const done = enforce({ request, response, next, config, options, after: listen(response, config) });
      return isThenable(done) ? Promise.resolve(done).catch(next) : DONE;
    } catch (error) {
      next(error);
      return DONE;
    }
  };
  return Object.assign(middleware, {
    resetKey: store.resetKey.bind(store),
    getKey: store.get?.bind(store) ?? withoutGet,
  });
}

type Done = void | Promise<void>;

/** A request, while it is decided. */
interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly next: NextFunction;
  readonly config: Configuration;
  readonly options: Options;
  readonly after: AfterResponse | undefined;
}

/** Decides in the same tick where nothing is asked elsewhere, because promises cost as much as the count. */
function enforce(exchange: Exchange): Done {
  const { request, response, next, config } = exchange;
  return mapMaybe(config.skip(request, response), (isSkipped) => {
    if (!isSkipped) return mapMaybe(config.keyGenerator(request, response), (key) => count(key, exchange));
    next();
  });
}

function count(key: string, exchange: Exchange): Done {
  const { store, passOnStoreError, logger } = exchange.config;
  const failed = (error: unknown): undefined => {
    if (!passOnStoreError) throw error;
    logger.error(error, 'express-rate-limit: error from store, allowing request without rate-limiting.');
    exchange.next();
  };
  if (store instanceof MemoryStore || store instanceof SluiceBackedStore) {
    // Told the limit with the hit.
    return mapMaybe(limitOf(exchange), (limit) =>
      countedBy(store, key, limit, (hits) => finish(key, exchange, hits, limit), failed),
    );
  }
  const counted = (hits: ClientRateLimitInfo): Done =>
    mapMaybe(limitOf(exchange), (limit) => finish(key, exchange, hits, limit));
  return settled(() => store.increment(key), counted, failed);
}

function limitOf({ request, response, config: { limit } }: Exchange): number | Promise<number> {
  return typeof limit === 'function' ? limit(request, response) : limit;
}

/** Our stores are asked without the promise of their `increment`, unless that is another: of a subclass, or a spy. */
function countedBy(
  store: MemoryStore | SluiceBackedStore,
  key: string,
  limit: number,
  counted: (hits: ClientRateLimitInfo) => Done,
  failed: (error: unknown) => undefined,
): Done {
  if (store instanceof MemoryStore && store.increment === incrementInMemory)
    return hitInMemory(store, key, limit, counted, failed);
  if (store instanceof SluiceBackedStore && store.increment === incrementBacked)
    return hitBacked(store, key, limit, counted, failed);
  return settled(() => store.increment(key, limit), counted, failed);
}

/** Does one thing with a value and another with its failure, whether it is there already or not. */
function settled<T>(
  ask: () => T | Promise<T>,
  counted: (value: T) => Done,
  failed: (error: unknown) => undefined,
): Done {
  let value: T | Promise<T>;
  try {
    value = ask();
  } catch (error) {
    failed(error);
    return undefined;
  }
  return isThenable(value) ? Promise.resolve(value).then(counted, failed) : counted(value);
}

/** Answers a request whose hit is counted: header fields, and `next` or `handler`. */
function finish(key: string, exchange: Exchange, hits: ClientRateLimitInfo, limit: number): Done {
  const { request, response, config, after } = exchange;
  const info = infoOf(key, exchange, hits, limit);
  (request as AugmentedRequest)[config.requestPropertyName] = info;
  return mapMaybe(sendFields(exchange, info), (): Done => {
    if (after !== undefined) takeBackAfter(after, config, { request, response, key, resetTime: info.resetTime });
    if (hits.totalHits > limit && config.mode !== 'report') return deny(exchange, info);
    exchange.next();
  });
}

async function deny({ request, response, next, config, options }: Exchange, info: RateLimitInfo): Promise<void> {
  if (config.legacyHeaders || config.standardHeaders !== false) {
    const { retryAfter } = config;
    const seconds = typeof retryAfter === 'function' ? await retryAfter(request, response) : retryAfter;
    setRetryAfterHeader(response, info, config.windowMs, seconds);
  }
  await config.handler(request, response, next, options);
}

function infoOf(
  key: string,
  { request, config }: Exchange,
  { totalHits, resetTime }: ClientRateLimitInfo,
  limit: number,
): RateLimitInfo {
  const { store, validations } = config;
  validations.positiveHits(totalHits);
  validations.singleCount(request, store, key);
  validations.limit(limit);
  const info = { limit, used: totalHits, remaining: Math.max(limit - totalHits, 0), resetTime, key };
  // The former name of `used`, hidden from JSON.
  return Object.defineProperty(info, 'current', { value: totalHits });
}

function sendFields(exchange: Exchange, info: RateLimitInfo): Done {
  const { response, config } = exchange;
  const { standardHeaders, validations, windowMs } = config;
  if (config.legacyHeaders) setLegacyHeaders(response, info);
  if (standardHeaders === false || response.headersSent) return;
  if (standardHeaders === 'draft-6') setDraft6Headers(response, info, windowMs);
  else if (standardHeaders === 'draft-7') {
    validations.headersResetTime(info.resetTime);
    setDraft7Headers(response, info, windowMs);
  } else if (isDraft8(standardHeaders)) return sendDraft8(exchange, info);
  else validations.headersDraftVersion(standardHeaders);
}

/** JavaScript can give any version. */
function isDraft8(version: string): boolean {
  return version === 'draft-8';
}

function sendDraft8({ request, response, config }: Exchange, info: RateLimitInfo): Done {
  const { identifier, validations, windowMs } = config;
  return mapMaybe(typeof identifier === 'function' ? identifier(request, response) : identifier, (name) => {
    validations.headersResetTime(info.resetTime);
    setDraft8Headers(response, info, windowMs, name, info.key);
  });
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
