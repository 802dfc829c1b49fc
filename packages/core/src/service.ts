/**
 * For services that decide over limits which arrive with requests, or live in a file: what `@sluice/server` is built on. And for
 * tools that decide in virtual time, on states that they hold themselves.
 */
export { LimiterCore } from './limiter/core.ts';
export type { UnresolvedEdit } from './limiter/edits.ts';
export { LimiterImpl, type HeldPart } from './limiter/limiter.ts';
export { limitOfPolicy } from './limiter/limits.ts';
export { checkActual } from './values/cost.ts';
export type { LimitRef, UnresolvedPart } from './managed/resolve.ts';
export { holdsSlots, namePolicies } from './engine/policy.ts';
export { encodeSubject } from './engine/key.ts';
export { joinParts } from './http/keys/read-key.ts';
export { isPending } from './engine/store.ts';
export { ClientList } from './http/client-list.ts';
export { isPreflight } from './http/preflight.ts';
export { SITE } from './site.generated.ts';

// What a service needs to serve the `remoteStore` of other processes.
export { servedStore, type ServedStore } from './remote/served-store.ts';
export { MOST_BYTES, MOST_KEYS, workOf, type BatchAnswer, type CoalescedRequests } from './engine/batch-store.ts';
export {
  FRAME,
  FrameError,
  FrameReader,
  MOST_FRAME_BYTES,
  MOST_LIMITS,
  PROTOCOL,
  readText,
  writeFrame,
  type FrameType,
} from './remote/wire/frames.ts';
export { answersToJson } from './remote/wire/answers.ts';
export { batchAnswerToJson, batchFromJson, type ReadBatch } from './remote/wire/batches.ts';
export { failureToJson } from './remote/wire/failure.ts';
export { limitFromJson } from './remote/wire/limit.ts';
export { requestsFromJson, uncountable, type LimitAt, type ReadCall } from './remote/wire/requests.ts';
export { parseDuration, writtenDuration } from './values/duration.ts';

// What a tool needs to decide at instants of its own: the requests of stores, on decoded states.
export { evaluate } from './engine/evaluate.ts';
export type { Evaluation } from './engine/evaluation.ts';
export { isFastPathEligible, type KeyState } from './engine/store.ts';
export { keyResetAtMs } from './engine/key-contents.ts';
export { ownText } from './engine/own-text.ts';
