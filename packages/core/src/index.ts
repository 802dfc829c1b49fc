export { fixedWindow, type FixedWindowOptions, type FixedWindowPolicy } from './algorithms/fixed-window/policy.ts';
export {
  slidingCounter,
  type SlidingCounterOptions,
  type SlidingCounterPolicy,
} from './algorithms/sliding-counter/policy.ts';
export {
  slidingWindow,
  type SlidingWindowOptions,
  type SlidingWindowPolicy,
} from './algorithms/sliding-window/policy.ts';
export { leakyBucket, type LeakyBucketOptions, type LeakyBucketPolicy } from './algorithms/leaky-bucket/policy.ts';
export { slidingLog, type SlidingLogOptions, type SlidingLogPolicy } from './algorithms/sliding-log/policy.ts';
export { concurrency, type ConcurrencyOptions, type ConcurrencyPolicy } from './algorithms/concurrency/policy.ts';
export { tokenBucket, type TokenBucketOptions, type TokenBucketPolicy } from './algorithms/token-bucket/policy.ts';
export type { IntervalBucketPolicy } from './algorithms/interval-bucket/policy.ts';
export type { Policy } from './algorithms/index.ts';
export { systemClock, type Clock } from './clock.ts';
export type { Decision, DecisionSource, Outcome, PolicyDecision } from './decision.ts';
export type { Duration } from './duration.ts';
export { escalate, type EscalateOptions, type Escalation } from './escalate.ts';
export { PolicyError, SluiceError, StoreError, type SluiceErrorCode, type StoreFailureKind } from './errors.ts';
export {
  createLimiter,
  type KeysOf,
  type Limiter,
  type LimiterOptions,
  type LimitsLimiterOptions,
  type SingleLimiterOptions,
} from './limiter.ts';
export type { LimitOptions } from './limiter-limits.ts';
export type { AcquireOptions, Acquisition } from './acquisition.ts';
export type { Reservation } from './reservation.ts';
export type { LimiterCoreOptions, OnStoreError } from './core-options.ts';
export type { DenialCacheOptions } from './denial-cache-options.ts';
export type { LeaseOptions } from './stores/lease/lease-options.ts';
export type { BreakerMessage, DecisionMessage, StoreErrorMessage } from './observe/channels.ts';
export type { Status } from './observe/live-limiters.ts';
export type { BreakerOptions, BreakerState } from './stores/breaker.ts';
export { managed, type ManagedReference } from './managed/managed.ts';
export type { OnUnconfigured } from './managed/managed-limit.ts';
export {
  createPolicies,
  type ManagedPolicy,
  type Policies,
  type PutOptions,
  type PutResult,
} from './managed/policies.ts';
export type { EarlierPolicy, PolicyRecord, PolicySource } from './managed/policy-source.ts';
export { memoryStore, type MemoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.ts';
export type { IoredisClient, NodeRedisClient, RedisClient } from './stores/redis/client.ts';
export type { RedisStoreOptions } from './stores/redis/redis-options.ts';
export { redisStore, type RedisStore } from './stores/redis/redis-store.ts';
export { fixedMembership, type FixedMembershipOptions } from './stores/split/fixed-membership.ts';
export type {
  Confirmation,
  Epoch,
  Membership,
  PlainConfirmation,
  TimedConfirmation,
} from './stores/split/membership.ts';
export { redisMembership, type RedisMembershipOptions } from './stores/split/redis-membership.ts';
export { splitStore, type SplitStore, type SplitStoreOptions } from './stores/split/split-store.ts';
export type { NamedPolicy } from './policy.ts';
export type {
  CarryOver,
  EarlierEdition,
  Edition,
  Limit,
  Part,
  PartAnswer,
  Store,
  StoreAnswer,
  StoreAnswers,
  StoreCall,
  StoreRequest,
} from './stores/store.ts';
export { silenceWarnings, type SluiceWarningCode } from './warnings.ts';
export {
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  type ByIpOptions,
  type Key,
  type KeyPart,
  type KeyReader,
  type KeyValue,
} from './http/keys/key-parts.ts';
export type { Limited } from './http/with-limiter.ts';
export type { RateLimitInfo } from './http/framework.ts';
export type { HeaderFormat, HeadersOption } from './http/headers.ts';
export type {
  HttpLimitOptions,
  KeyByLimit,
  OnMissingKey,
  PolicyOption,
  RefundOptions,
  RefundWhen,
} from './http/options.ts';
export { RateLimitError } from './http/problem.ts';
