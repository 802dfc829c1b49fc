export { rateLimit, rateLimit as default } from './rate-limit.ts';
export { ipKeyGenerator } from './ip-key-generator.ts';
export { MemoryStore } from './memory-store.ts';
export { DAY, HOUR, MINUTE, SECOND } from './time-constants.ts';
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  EnabledValidations,
  IncrementCallback,
  IncrementResponse,
  LegacyStore,
  Logger,
  LoggerFn,
  Options,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitOptions,
  RateLimitReachedEventHandler,
  RateLimitRequestHandler,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts';
