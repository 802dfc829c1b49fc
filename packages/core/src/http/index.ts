// What adapters share, from a framework's requests to decisions and responses. Applications import an adapter, which
// exports the first part.
export { byAll, byHeader, byIp, byMethod, byRoute, byUser } from './keys/key-parts.ts';
export { canonicalAddress } from './keys/address.ts';
export type { ByIpOptions, Key, KeyPart, KeyReader, KeyValue } from './keys/key-parts.ts';
export { fieldWriter, type HeaderFormat, type HeadersOption } from './response/headers.ts';
export type { HttpLimitOptions, KeyByLimit, OnMissingKey, PolicyOption, RefundOptions, RefundWhen } from './options.ts';
export { denialFor, RateLimitError, type Denial, type DenialStatuses } from './response/denial.ts';
export type { Limited } from './limited.ts';
export type { RateLimitInfo } from './framework.ts';

// For adapters.
export {
  asError,
  joinLines,
  NO_RESPONSE,
  readUserId,
  type Framework,
  type FrameworkReader,
  type RawResponse,
} from './framework.ts';
export { limitRequests, withLimiter } from './limited.ts';
export { limitMethods, type MethodDecorator } from './decorate.ts';
export { atPlace } from './at-place.ts';
export { inLocals } from './locals.ts';
export { hasLimit, inheritOptions, namedByPlace, type ScopeOptions } from './inherit.ts';
export { Place } from './place.ts';
export { RequestLimiter } from './request-limiter.ts';
export { exposeFields, respond } from './respond.ts';
export { mapMaybe } from './maybe.ts';
export type { Plan } from './plan.ts';
export type { KeyEachOptions, OneKeyOptions, RateLimitOptions } from './options.ts';

// For what reads or answers requests without a framework's adapter.
export { joinParts } from './keys/read-key.ts';
export { foldCase, readingsOf } from './keys/path-readings.ts';
export { TrustedProxies } from './keys/trusted-proxies.ts';
