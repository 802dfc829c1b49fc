// For applications: adapters re-export these.
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from './keys/key-parts.ts';
export { canonicalAddress } from './keys/address.ts';
export { fieldWriter, type Field, type HeaderFormat, type HeadersOption } from './response/headers.ts';
export { denialFor, RateLimitError, type Denial, type DenialStatuses } from './response/denial.ts';
export type { AddressReader, ByIpOptions, Key, KeyPart, KeyReader, KeyValue } from './keys/key-parts.ts';
export type { HttpLimitOptions, OnMissingKey, PolicyOption, RefundOptions, RefundWhen } from './options.ts';
export type { KeyByLimit } from '../limiter/limits.ts';
export type { Limited } from './request-limiter.ts';
export type { RateLimitInfo } from './framework.ts';

// For adapters, and for code that reads requests without one.
export { readUserId, type Framework, type FrameworkReader, type RawResponse } from './framework.ts';
export { limitMethods, type MethodDecorator } from './decorate.ts';
export { inLocals } from './locals.ts';
export { atPlace, hasLimit, inheritOptions, namedByPlace, type ScopeOptions } from './inherit.ts';
export { Place } from './place.ts';
export { limitRequests, RequestLimiter, withLimiter } from './request-limiter.ts';
export { exposeFields } from './respond.ts';
export { mapMaybe } from './maybe.ts';
export { joinParts } from './keys/key-parts.ts';
export { TrustedProxies } from './keys/trusted-proxies.ts';
export type { Plan } from './plan.ts';
export type { RateLimitOptions } from './options.ts';
