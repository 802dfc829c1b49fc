// What adapters share, from a framework's requests to decisions and responses. Applications import an adapter, which
// exports the first part.
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from './keys/key-parts.ts';
export type { ByIpOptions, Key, KeyPart, KeyReader, KeyValue } from './keys/key-parts.ts';
export type { HeaderFormat, HeadersOption } from './response/headers.ts';
export type { HttpLimitOptions, KeyByLimit, OnMissingKey, PolicyOption, RefundOptions, RefundWhen } from './options.ts';
export { RateLimitError, type Denial, type DenialStatuses } from './response/denial.ts';
export type { Limited } from './limited.ts';
export type { RateLimitInfo } from './framework.ts';

// For adapters.
export { asError, joinLines, NO_RESPONSE, readUserId, type Framework, type RawResponse } from './framework.ts';
export { limitRequests, withLimiter } from './limited.ts';
export { limitMethods, type MethodDecorator } from './decorate.ts';
export { hasLimit, inheritOptions, namedByPlace, withStore, type ScopeOptions } from './inherit.ts';
export { Place } from './place.ts';
export { RequestLimiter } from './request-limiter.ts';
export { respond } from './respond.ts';
export type { Plan } from './plan.ts';
export type { KeyEachOptions, OneKeyOptions, RateLimitOptions } from './options.ts';
