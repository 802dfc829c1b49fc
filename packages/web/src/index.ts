export * from '@sluice/old-core';
export * from '@sluice/old-http';
export { fromBun, fromCloudflare, fromDeno, fromNode, fromProxy, fromVercel, type AddressSource } from './addresses.ts';
export type { RateLimitOptions, WebOptions } from './options.ts';
export { rateLimit, type Checked, type RateLimit } from './rate-limit.ts';
export type { Route, RoutePattern } from './routes.ts';
