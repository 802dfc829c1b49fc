export * from '@sluice/core';
export * from '../words.ts';
export { createRateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
