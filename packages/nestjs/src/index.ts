export * from '@sluice/core';
export * from '@sluice/core/http';
export type { NestRequest } from './nest-request.ts';
export type { NestResponse } from './nest-response.ts';
export { CurrentRateLimit, RateLimit, SkipRateLimit } from './rate-limit.decorator.ts';
export { RateLimitException } from './rate-limit.exception.ts';
export { RateLimitGuard } from './rate-limit.guard.ts';
export { RateLimitModule, type RateLimitModuleAsyncOptions, type RateLimitModuleOptions } from './rate-limit.module.ts';
export {
  RATE_LIMIT_OPTIONS,
  type RateLimitOptions,
  type RateLimitOptionsFactory,
  type RateLimitScopeOptions,
} from './rate-limit.options.ts';
export { RateLimits } from './rate-limits.ts';
