export * from '@sluice/core';
export * from '../shared-exports.ts';
export { createRateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
