export * from '@sluice/core';
export * from '@sluice/core/http';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
