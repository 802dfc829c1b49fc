export * from '@sluice/core';
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/core/http';
export { canonicalAddress, denialFor, fieldWriter, RateLimitError } from '@sluice/core/http';
export type { Key, KeyByLimit, KeyPart, KeyReader, KeyValue, Limited, RateLimitInfo } from '@sluice/core/http';
export type { HeadersOption, HttpLimitOptions, OnMissingKey, PolicyOption, RefundOptions } from '@sluice/core/http';
// Return types, which applications that emit declarations refer to.
export type { AddressReader, ByIpOptions, Denial, DenialStatuses, Field } from '@sluice/core/http';
export type { HeaderFormat, MethodDecorator, RefundWhen } from '@sluice/core/http';
export type { LimitHook, RateLimitOptions, RouteLimitOptions, SluiceOptions } from './options.ts';
export { sluice, sluice as default, type RateLimitHook, type SluicePlugin } from './plugin.ts';
export { RateLimit } from './rate-limit.ts';
