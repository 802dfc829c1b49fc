export { fixedWindow, type FixedWindowOptions, type FixedWindowPolicy } from './policies/fixed-window.ts';
export { slidingWindow, type SlidingWindowOptions, type SlidingWindowPolicy } from './policies/sliding-window.ts';
export { slidingCounter, type SlidingCounterOptions, type SlidingCounterPolicy } from './policies/sliding-counter.ts';
export { slidingLog, type SlidingLogOptions, type SlidingLogPolicy } from './policies/sliding-log.ts';
export {
  tokenBucket,
  type IntervalBucketPolicy,
  type TokenBucketOptions,
  type TokenBucketPolicy,
} from './policies/token-bucket.ts';
export { leakyBucket, type LeakyBucketOptions, type LeakyBucketPolicy } from './policies/leaky-bucket.ts';
export { concurrency, type ConcurrencyOptions, type ConcurrencyPolicy } from './policies/concurrency.ts';
export { describePolicy, parsePolicy, type Policy } from './policies/index.ts';
export type { Duration } from './values/duration.ts';
export { PolicyError, SluiceError, StoreError, type SluiceErrorCode, type StoreFailureKind } from './errors.ts';
export { readEvents, type ReadEventsOptions } from './events/read-events.ts';
export type { LimitEvent } from './events/event.ts';
export { createLimiter } from './limiter/create-limiter.ts';
export type {
  Acquisition,
  BlockOptions,
  EditOptions,
  KeysOf,
  Limiter,
  LimiterOptions,
  LimitsLimiterOptions,
  Reservation,
  Running,
  ShortLimiterOptions,
  SingleLimiterOptions,
} from './limiter/limiter.ts';
export type { Decision, DecisionSource, Outcome, PolicyDecision } from './limiter/decision.ts';
export type { LimitOptions } from './limiter/limits.ts';
export type { LimiterCoreOptions, OnStoreError, OnUnconfigured } from './limiter/options.ts';
export {
  policyOf,
  type MarkedPolicy,
  type PolicyContext,
  type PolicyFunction,
  type PolicyMark,
  type ReturnedPolicy,
} from './limiter/policy-function.ts';
export type { ThresholdEvent, ThresholdOptions } from './limiter/thresholds.ts';
export type { WaitOptions } from './limiter/wait.ts';
export type { BreakerMessage, BreakerState, DecisionMessage, StoreErrorMessage } from './channels.ts';
export type { Status } from './observe/live-limiters.ts';
export type { Clock } from './platform.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './stores/memory.ts';
export { redisStore, type RedisStore, type RedisStoreOptions } from './stores/redis/redis-store.ts';
export type { IoredisClient } from './stores/redis/clients/ioredis.ts';
export type { NodeRedisClient } from './stores/redis/clients/node-redis.ts';
export type { RedisClient } from './stores/redis/clients/port.ts';
export type { Answer, Ask, Figures, Op, Store } from './stores/store.ts';
export {
  transactionStore,
  type Decide,
  type Transaction,
  type TransactionStoreOptions,
  type Write,
} from './stores/transaction.ts';
export { silenceWarnings, type SluiceWarningCode } from './warnings.ts';
// Every Node program has these. A bundle leaves them out, because nothing in it refers to them.
export { namesElsewhere } from './values/names-elsewhere.ts';
export { remoteStore, type RemoteStore, type RemoteStoreOptions } from './stores/remote.ts';
