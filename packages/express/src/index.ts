export * from '@sluice/core';
export { RateLimit, rateLimit, type RateLimitHandler, type RateLimitOptions } from './rate-limit.ts';
