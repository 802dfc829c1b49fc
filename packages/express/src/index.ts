export * from '@sluice/core';
export {
  RateLimitError,
  type HeadersOption,
  type HttpLimitOptions,
  type OnMissingKey,
  type PolicyOption,
  type RateLimitInfo,
} from '@sluice/core/http';
export { RateLimit, rateLimit, type RateLimitHandler, type RateLimitOptions } from './rate-limit.ts';
