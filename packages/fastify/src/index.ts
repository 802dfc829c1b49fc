export * from '@sluice/old-core';
export * from '@sluice/old-http';
export { framework } from './framework.ts';
export type { LimitHook, RateLimitOptions, RouteLimitOptions, SluiceOptions } from './options.ts';
export { sluice, sluice as default, type RateLimitHook } from './plugin.ts';
export { RateLimit } from './rate-limit.ts';
