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
} from './addresses.ts';
export type { RateLimitOptions, WebOptions } from './options.ts';
export { createRateLimit, rateLimit, type Checked, type RateLimit } from './rate-limit.ts';
export type { Route, RoutePattern } from './routes.ts';
