// For packages that plug into core: stores, sources of limits, frameworks, services and tools. Applications import the
// index.

// A store: what counts is done here, and the store keeps a text for each key. See docs/guides/creating-a-store.md.
export { keysOf, performRequest, type KeyChange, type Performed } from './stores/perform-request.ts';
export {
  isFastPathEligible,
  isPending,
  partsOf,
  settlementsOf,
  type KeySnapshot,
  type KeyState,
  type SettlingRequest,
} from './engine/store.ts';
export { evaluate } from './engine/evaluate.ts';
export type { Evaluation } from './engine/evaluation.ts';
export { AllEarlier } from './engine/migrate-state.ts';

// A store behind a network: what stands between it and the limiter.
export {
  MOST_BYTES,
  MOST_KEYS,
  performsBatches,
  workOf,
  type BatchAnswer,
  type BatchStore,
  type CoalescedRequests,
} from './engine/batch-store.ts';
export type { Fast, FastHost, FastStore } from './engine/fast.ts';
export { flushBatches, NetworkFast, performInOrder } from './stores/redis/fast/network-fast.ts';
export { closeGuardOf, guardOf } from './guard/store-guard.ts';
export { parseBreaker } from './guard/breaker-options.ts';
export { withinDeadline } from './guard/deadline.ts';
export { untilReady } from './guard/until-ready.ts';
export { DenialCache } from './stores/redis/fast/denial-cache.ts';
export { Invalidations } from './stores/redis/fast/invalidations.ts';

// Decisions over limits that arrive with requests, or live in a file.
export { LimiterCore } from './limiter/core.ts';
export { eachPolicy, watchDecisions, type PublishedDecision } from './limiter/published.ts';
export type { UnresolvedEdit } from './limiter/edits.ts';
export { LimiterImpl, type HeldPart } from './limiter/limiter.ts';
export { givenPolicy, isByName, limitOfPolicy, limitsByName, type LimiterLimits } from './limiter/limits.ts';
export { CORE_OPTIONS, LONGEST_APP } from './limiter/options.ts';
export { newHolder } from './limiter/settlement/holder.ts';
export { keepRenewing, releaseWithRetry } from './limiter/settlement/keep-slots.ts';
export { warnOfRefund } from './limiter/settlement/settlements.ts';
export type { UnresolvedPart } from './limiter/resolve.ts';

// Limits whose numbers are not fixed, and what a program writes in place of a policy to name them.
export {
  currentOf,
  isSource,
  mayHoldSlots,
  mayPace,
  namesOf,
  paces,
  type LimitFeed,
  type LimitRef,
  type LimitSource,
} from './engine/limit-source.ts';
export {
  isReference,
  KEEPS_LIMITS,
  MAKES_SOURCE,
  type LimitReference,
  type LimitRegistry,
  type SourceSettings,
} from './limiter/limit-reference.ts';
export { withFallback } from './stores/fallback.ts';

// Names and keys.
export { encodeSubject, keySuffixOf, ownerOf, sourceKeySuffix } from './engine/key.ts';
export { checkDistinct, countsDenied, holdsSlots, namePolicies, namePolicy } from './engine/policy.ts';
export { ownText } from './engine/own-text.ts';

// Algorithms.
export { algorithms } from './algorithms/index.ts';
export { algorithmOf, makerName, type AnyAlgorithm } from './algorithms/registry.ts';
export type { Algorithm, Kernel, PolicyBase, PolicyPart, Split, SplitParts, Verdict } from './algorithms/algorithm.ts';

// Values that users write, and the errors and warnings of wrong ones.
export { checkOptions, invalidOption } from './values/check-options.ts';
export { listed } from './values/hint.ts';
export { namesElsewhere } from './values/names-elsewhere.ts';
export {
  duration,
  flag,
  oneOf,
  optional,
  readInner,
  readOptions,
  readValues,
  timerMs,
  valueThat,
  wholeNumber,
  type Option,
  type OptionTable,
  type SettingsOf,
} from './values/option.ts';
export { checkActual, checkCost } from './values/cost.ts';
export { LONGEST_MS, parseDuration, writtenDuration } from './values/duration.ts';
export { parseEscalation } from './values/escalate.ts';
export { parseName } from './values/name.ts';
export { LARGEST_LIMIT, MOST_UNITS } from './values/numbers.ts';
export { asStoreError, isSluiceError, kindOf, messageOf, shown, staleError, typeError } from './errors.ts';
export { warnOnce } from './warnings.ts';
export { SITE } from './site.generated.ts';

// Redis: connections, scripts, keys and values.
export { connectTo, connectionOf, parsePrefix, type RedisConnection } from './stores/redis/connection.ts';
export { failureOf } from './stores/redis/failure.ts';
export { runScript } from './stores/redis/run-script.ts';
export { redisStoreAt, PRODUCTION_LINE, TEST_LINE, testGeneral } from './stores/redis/clocked-redis-store.ts';
export { createRedisStore } from './stores/redis/redis-store.ts';
export { SeveralNodes } from './stores/redis/cluster/several-nodes.ts';
export { batch, general } from './stores/redis/scripts.generated.ts';
export { hashTag, redisKey } from './stores/redis/redis-key.ts';
export { readStates, readValue, writeValue } from './stores/redis/value.ts';
export { withinBounds } from './stores/redis/within-bounds.ts';
export { shownMemory } from './stores/memory/shown-memory.ts';

// The process: clocks, timers, and what outlives a request.
export { DRIFT, LONGEST_TIMER_MS, localClocks, localTime, type LocalClocks, type LocalTime } from './platform/clock.ts';
export { detached } from './platform/detached.ts';
export { liveLimiters } from './observe/live-limiters.ts';
export { schedule } from './platform/schedule.ts';
export { PrivateFields } from './engine/private-fields.ts';
