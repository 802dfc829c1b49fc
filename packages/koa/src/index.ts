export * from '@sluice/core';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
