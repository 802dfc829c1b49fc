export * from '@sluice/core';
export { framework } from './framework.ts';
export { RateLimit, rateLimit, type RateLimitHandler, type RateLimitOptions } from './rate-limit.ts';
