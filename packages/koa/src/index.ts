export * from '@sluice/core';
export * from '@sluice/http';
export { framework } from './framework.ts';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
