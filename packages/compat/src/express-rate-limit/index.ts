export { rateLimit, rateLimit as default } from './rate-limit.ts';
export { ipKeyGenerator } from './ip-key-generator.ts';
export { MemoryStore } from './memory-store.ts';
export type { EnabledValidations } from './validations.ts';
export type { Logger, LoggerFn } from './console-logger.ts';
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  IncrementCallback,
  IncrementResponse,
  LegacyStore,
  Options,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitOptions,
  RateLimitReachedEventHandler,
  RateLimitRequestHandler,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts';

/** Milliseconds. */
export const SECOND: number = 1000;
/** Milliseconds. */
export const MINUTE: number = 60 * SECOND;
/** Milliseconds. */
export const HOUR: number = 60 * MINUTE;
/** Milliseconds. */
export const DAY: number = 24 * HOUR;
