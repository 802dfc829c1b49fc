export * from '@sluice/core';
export * from '@sluice/http';
export { redisStore } from '@sluice/http/spi';
export { framework } from './framework.ts';
export { RateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
