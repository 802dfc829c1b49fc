/** The framework-neutral part of every adapter. */
export { methodDecorator, type MethodDecorator } from './decorate.ts';
export { createEnforcer, type Enforcement, type Enforcer, type RateLimitInfo } from './enforcer.ts';
export { fieldWriter, type Field, type FieldWriter, type HeaderFormat, type HeadersOption } from './headers.ts';
export { canonicalAddress } from './keys/address.ts';
export type { Key, KeyPart, KeyReader, KeyValue } from './keys/key-parts.ts';
export type { HttpLimitOptions, OnMissingKey, PolicyOption, RateLimitOptions } from './options.ts';
export { RateLimitError, type Refusal } from './problem.ts';
export type { RequestReader } from './reader.ts';
export { warnOnce } from '../warnings.ts';
