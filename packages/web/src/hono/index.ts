export * from '@sluice/core';
export * from '@sluice/core/http';
export {
  fromBun,
  fromCloudflare,
  fromDeno,
  fromNode,
  fromProxy,
  fromVercel,
  type AddressOption,
  type AddressSource,
} from '../addresses.ts';
export { createRateLimit, rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
