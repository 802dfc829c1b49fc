/** For services that decide over limits which arrive with requests, or live in a file: what `@sluice/server` is built on. */
export { LimiterCore } from './limiter/core.ts';
export { limitOfPolicy } from './limiter/limits.ts';
export type { LimitRef, UnresolvedPart } from './managed/resolve.ts';
export { holdsSlots } from './engine/policy.ts';
export { encodeSubject } from './engine/key.ts';
export { joinParts } from './http/keys/read-key.ts';
export { isPending } from './engine/store.ts';
