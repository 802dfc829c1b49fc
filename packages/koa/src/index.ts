export * from '@sluice/core';
export { framework } from './framework.ts';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
