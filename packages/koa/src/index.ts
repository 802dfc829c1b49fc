export * from '@sluice/old-core';
export * from '@sluice/old-http';
export { framework } from './framework.ts';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
