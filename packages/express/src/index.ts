export * from '@sluice/core';
export * from '@sluice/core/http';
export { RateLimit, rateLimit, type RateLimitHandler, type RateLimitOptions } from './rate-limit.ts';
