export * from '@sluice/core';
export * from './shared-exports.ts';
export type { RateLimitOptions, WebOptions } from './options.ts';
export { createRateLimit, rateLimit, type Checked, type RateLimit } from './rate-limit.ts';
