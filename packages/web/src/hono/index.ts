export * from '@sluice/old-core';
export * from '@sluice/old-http';
export {
  fromBun,
  fromCloudflare,
  fromDeno,
  fromNode,
  fromProxy,
  fromVercel,
  type AddressSource,
} from '../addresses.ts';
export { rateLimit, type RateLimitMiddleware, type RateLimitOptions } from './rate-limit.ts';
