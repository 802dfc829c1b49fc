export * from '@sluice/core';
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/core/http';
export { canonicalAddress, denialFor, fieldWriter, RateLimitError } from '@sluice/core/http';
export type { Key, KeyByLimit, KeyPart, KeyReader, KeyValue, Limited, RateLimitInfo } from '@sluice/core/http';
export type { HeadersOption, HttpLimitOptions, OnMissingKey, PolicyOption, RefundOptions } from '@sluice/core/http';
// Return types, which applications that emit declarations refer to.
export type { AddressReader, ByIpOptions, Denial, DenialStatuses, Field } from '@sluice/core/http';
export type { HeaderFormat, RefundWhen } from '@sluice/core/http';
export type { NestRequest, NestResponse } from './nest-types.ts';
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
