// For packages that plug into core: stores, sources of limits, frameworks, services and tools. Applications import the
// index.

// A store: what counts is done here, and the store keeps a text for each key. See docs/guides/creating-a-store.md.
export { keysOf, performRequest, type KeyChange, type Performed } from './stores/perform-request.ts';
export {
  isFastPathEligible,
  isPending,
  settlementsOf,
  type KeySnapshot,
  type KeyState,
  type SettlingRequest,
} from './engine/store.ts';
export { evaluate } from './engine/evaluate.ts';
export type { Evaluation } from './engine/evaluation.ts';
export { keyResetAtMs } from './engine/key-contents.ts';
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
export { FAST_PATHS, type FastPaths, type FastStore } from './guard/fast-paths.ts';
export { networkFastPaths } from './guard/network-fast-paths.ts';
export { StoreGuard } from './guard/store-guard.ts';
export { parseBreaker } from './guard/breaker-options.ts';
export { checkTimeout } from './guard/deadline.ts';
export { untilReady } from './guard/until-ready.ts';
export { consumeAcrossNodes, spansNodes } from './guard/multi-node.ts';
export { DenialCache } from './guard/denial-cache.ts';
export { Invalidations } from './guard/invalidations.ts';
export { RecentDenials } from './guard/recent-denials.ts';

// Decisions over limits that arrive with requests, or live in a file.
export { LimiterCore } from './limiter/core.ts';
export type { UnresolvedEdit } from './limiter/edits.ts';
export { LimiterImpl, type HeldPart } from './limiter/limiter.ts';
export { isByName, limitOfPolicy, limitsByName, type LimiterLimits } from './limiter/limits.ts';
export { CORE_OPTIONS } from './limiter/options.ts';
export { newHolder } from './limiter/settlement/holder.ts';
export { keepRenewing, releaseWithRetry } from './limiter/settlement/keep-slots.ts';
export { warnOfRefund } from './limiter/settlement/settlements.ts';
export { isManagedReference } from './managed/reference.ts';
export {
  countsDenialsNow,
  isManaged,
  mayHoldSlots,
  mayPace,
  namesOf,
  paces,
  type LimitRef,
  type UnresolvedPart,
} from './managed/resolve.ts';

// Names and keys.
export { encodeSubject, keySuffixOf, managedKeySuffix } from './engine/key.ts';
export { checkDistinct, countsDenied, holdsSlots, namePolicies, namePolicy } from './engine/policy.ts';
export { ownText } from './engine/own-text.ts';

// Algorithms.
export { algorithmOf, algorithms, type AnyAlgorithm } from './algorithms/index.ts';
export type { Algorithm, Kernel, PolicyBase, PolicyPart, Split, SplitParts, Verdict } from './algorithms/algorithm.ts';

// Values that users write, and the errors and warnings of wrong ones.
export { checkOptions, invalidOption, listed } from './values/check-options.ts';
export {
  flag,
  oneOf,
  optional,
  readOptions,
  readValues,
  timerMs,
  valueThat,
  type Option,
  type OptionTable,
  type SettingsOf,
} from './values/option.ts';
export { checkActual, checkCost } from './values/cost.ts';
export { LONGEST_MS, parseDuration, writtenDuration } from './values/duration.ts';
export { parseEscalation } from './values/escalate.ts';
export { LARGEST_LIMIT, MOST_UNITS } from './values/numbers.ts';
export { parseSwitch } from './values/switch.ts';
export { asStoreError, isSluiceError, kindOf, messageOf, shown, typeError } from './errors.ts';
export { warnOnce } from './warnings.ts';
export { SITE } from './site.generated.ts';

// Redis: connections, scripts, keys and values.
export { connectTo, connectionOf, parsePrefix, type RedisConnection } from './stores/redis/connection.ts';
export { failureOf } from './stores/redis/failure.ts';
export { runScript } from './stores/redis/run-script.ts';
export { clockedRedisStore, PRODUCTION_LINE, TEST_LINE, testGeneral } from './stores/redis/clocked-redis-store.ts';
export { createRedisStore } from './stores/redis/redis-store.ts';
export { batch, general } from './stores/redis/scripts.generated.ts';
export { externalStateKey, hashTag, redisKey } from './stores/redis/redis-key.ts';
export { readStates, readValue, writeValue } from './stores/redis/value.ts';
export { withinBounds } from './stores/redis/within-bounds.ts';
export { partsOf } from './stores/redis/write-call.ts';
export { shownMemory } from './stores/memory/memory-store.ts';

// The process: clocks, timers, and what outlives a request.
export { DRIFT, LONGEST_TIMER_MS, localClocks, localTime, type LocalClocks, type LocalTime } from './platform/clock.ts';
export { copiesHint } from './platform/copies.ts';
export { detached } from './platform/detached.ts';
export { schedule } from './platform/schedule.ts';
export { PrivateFields } from './engine/private-fields.ts';
