// Known to every program of Node. A bundle does without, as nothing here is named by it: see values/hint.ts.
import './values/names-elsewhere.ts';
export { fixedWindow } from './algorithms/fixed-window/index.ts';
export type { FixedWindowOptions, FixedWindowPolicy } from './algorithms/fixed-window/policy.ts';
export { slidingWindow } from './algorithms/sliding-window/index.ts';
export type { SlidingWindowOptions, SlidingWindowPolicy } from './algorithms/sliding-window/policy.ts';
export { slidingCounter } from './algorithms/sliding-counter/index.ts';
export type { SlidingCounterOptions, SlidingCounterPolicy } from './algorithms/sliding-counter/policy.ts';
export { slidingLog } from './algorithms/sliding-log/index.ts';
export type { SlidingLogOptions, SlidingLogPolicy } from './algorithms/sliding-log/policy.ts';
export { tokenBucket } from './algorithms/token-bucket/index.ts';
export type { TokenBucketOptions, TokenBucketPolicy } from './algorithms/token-bucket/policy.ts';
export { leakyBucket } from './algorithms/leaky-bucket/index.ts';
export type { LeakyBucketOptions, LeakyBucketPolicy } from './algorithms/leaky-bucket/policy.ts';
export { concurrency } from './algorithms/concurrency/index.ts';
export type { ConcurrencyOptions, ConcurrencyPolicy } from './algorithms/concurrency/policy.ts';
export type { IntervalBucketPolicy } from './algorithms/interval-bucket/policy.ts';
export type { Policy } from './algorithms/index.ts';
export { systemClock, type Clock } from './platform/clock.ts';
export type { Decision, DecisionSource, Outcome, PolicyDecision } from './engine/decision.ts';
export type { Duration } from './values/duration.ts';
export { escalate, type EscalateOptions, type Escalation } from './values/escalate.ts';
export { PolicyError, SluiceError, StoreError, type SluiceErrorCode, type StoreFailureKind } from './errors.ts';
export {
  createLimiter,
  type BlockOptions,
  type KeysOf,
  type Limiter,
  type LimiterOptions,
  type LimitsLimiterOptions,
  type ShortLimiterOptions,
  type SingleLimiterOptions,
} from './limiter/limiter.ts';
export type { LimitOptions } from './limiter/limits.ts';
export type { AcquireOptions, Acquisition } from './limiter/settlement/acquisition.ts';
export type { RunOptions, WaitOptions } from './limiter/waiting/options.ts';
export type { Running } from './limiter/waiting/run.ts';
export type { Reservation } from './limiter/settlement/reservation.ts';
export type { OnStoreError } from './engine/fast.ts';
export type { DenialCacheOptions, LimiterCoreOptions } from './limiter/options.ts';
export type { ThresholdEvent, ThresholdOptions } from './limiter/thresholds.ts';
export type { BreakerMessage, DecisionMessage, StoreErrorMessage } from './channels.ts';
export type { Status } from './observe/live-limiters.ts';
export type { LimitReference, LimitRegistry } from './limiter/limit-reference.ts';
export type { OnUnconfigured } from './engine/limit-source.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.ts';
export type { IoredisClient, NodeRedisClient, RedisClient } from './stores/redis/client.ts';
export type { RedisStoreOptions } from './stores/redis/redis-options.ts';
export { redisStore, type RedisStore } from './stores/redis/redis-store.ts';
export type { NamedPolicy } from './engine/policy.ts';
export type {
  CarryOver,
  EarlierVersion,
  PolicyVersion,
  Limit,
  Part,
  PartAnswer,
  Store,
  StoreAnswer,
  StoreAnswers,
  StoreCall,
  StoreRequest,
  BreakerOptions,
  BreakerState,
} from './engine/store.ts';
export { customStore } from './guard/custom-store.ts';
export { silenceWarnings, type SluiceWarningCode } from './warnings.ts';
