export * from '@sluice/core';
export * from '@sluice/core/http';
export type { LimitHook, RateLimitOptions, RouteLimitOptions, SluiceOptions } from './options.ts';
export { sluice, sluice as default, type RateLimitHook } from './plugin.ts';
export { RateLimit } from './rate-limit.ts';
