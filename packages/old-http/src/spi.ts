// For packages that adapt a framework: from its requests to decisions and responses. Applications import the index.
export { answer, exposeFields } from './answer.ts';
export { methodDecorator, type MethodDecorator } from './decorate.ts';
export type { ResponsePlan } from './response-plan.ts';
export { Enforcer, createEnforcer } from './enforcer.ts';
export {
  NO_RESPONSE,
  asError,
  fieldText,
  userIdOf,
  type Framework,
  type RawRequest,
  type RawResponse,
  type RateLimitInfo,
  type RequestReader,
} from './framework.ts';
export { fieldWriter, type Field, type FieldWriter } from './response/headers.ts';
export { canonicalAddress, formatIpv6, isIpv4, writtenBits } from './keys/address.ts';
export { foldCase, readingsOf } from './keys/path-readings.ts';
export { TrustedProxies } from './keys/trusted-proxies.ts';
export { atPlace } from './at-place.ts';
export { digest } from './digest.ts';
export { isThenable, mapMaybe } from './map-maybe.ts';
export { checkPlace, hasLimit, inheritOptions, namedByPlace, outermost, type ScopeOptions } from './inherit.ts';
export { Layer } from './layer.ts';
export { withLimiter, type Limited } from './with-limiter.ts';
export type { KeyByLimit, KeyEachOptions, OneKeyOptions, RateLimitOptions } from './option-types.ts';
export { denialOf, type Denial } from './response/denial.ts';
export { weakMapMarks, type RequestMark, type RequestMarks } from './request-marks.ts';
export { ClientList } from './keys/client-list.ts';
export { isPreflight } from './preflight.ts';
export { joinParts } from './keys/read-key.ts';
