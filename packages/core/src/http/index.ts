/** The framework-neutral part of every adapter. */
export { answer } from './answer.ts';
export { methodDecorator, type MethodDecorator } from './decorate.ts';
export type { Enforcement } from './enforcement.ts';
export { Enforcer, createEnforcer } from './enforcer.ts';
export { expectLongLife } from './doctor.ts';
export { asError } from './as-error.ts';
export {
  NO_RESPONSE,
  fieldText,
  userIdOf,
  type Framework,
  type RawRequest,
  type RawResponse,
  type RateLimitInfo,
  type RequestReader,
} from './framework.ts';
export { fieldWriter, type Field, type FieldWriter } from './headers.ts';
export { canonicalAddress } from './keys/address.ts';
export { checkPlace, hasLimit, inheritOptions, outermost, type ScopeOptions } from './inherit.ts';
export { Layer } from './layer.ts';
export { withLimiter, type Limited } from './with-limiter.ts';
export {
  namedByPlace,
  type KeyByLimit,
  type KeyEachOptions,
  type OneKeyOptions,
  type RateLimitOptions,
} from './options.ts';
export { refusalOf, type Refusal } from './problem.ts';
export { besideRequests, type Sighting, type Sightings } from './sighting.ts';
export { warnOnce } from '../warnings.ts';
