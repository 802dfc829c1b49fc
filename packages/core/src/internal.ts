// What the workspace's own tests look at. Not part of the package: its exports leave this out.
export type { LocalClocks, LocalTime } from './platform/clock.ts';
export { algorithms, algorithmOf, type AnyAlgorithm } from './algorithms/index.ts';
export type { Algorithm, Kernel, PolicyBase, Verdict } from './algorithms/algorithm.ts';
export { ClientList } from './http/client-list.ts';
export { quotaItem, stateItem } from './http/response/headers.ts';
export { LimiterCore } from './limiter/core.ts';
export { namePolicies, namePolicy, type NamedPolicy } from './engine/policy.ts';
export { encodeSubject, keySuffixOf, managedKeySuffix } from './engine/key.ts';
export { DenialCache } from './guard/denial-cache.ts';
export { FAST_PATHS } from './guard/fast-paths.ts';
export { Invalidations } from './guard/invalidations.ts';
export { networkFastPaths } from './guard/network-fast-paths.ts';
export { isFastPathEligible, settlementsOf, type KeyState } from './engine/store.ts';
export { evaluate } from './engine/evaluate.ts';
export { keyResetAtMs } from './engine/key-contents.ts';
export { shownMemory } from './stores/memory/memory-store.ts';
export { readValue, writeValue } from './stores/redis/value.ts';
export { limitToJson } from './remote/wire/limit.ts';
export { requestsToJson } from './remote/wire/requests.ts';
export { batchAnswerFromJson, batchToJson } from './remote/wire/batches.ts';
export { answersFromJson } from './remote/wire/answers.ts';
export { createRedisStore } from './stores/redis/redis-store.ts';
export {
  clockedRedisStore,
  PRODUCTION_LINE,
  TEST_LINE,
  testGeneral,
} from './stores/redis/clocked-redis-store.ts';
export { externalStateKey, hashTag, redisKey } from './stores/redis/redis-key.ts';
export { hashSlot } from './stores/redis/hash-slot.ts';
export { batch, general } from './stores/redis/scripts.generated.ts';
export { shareOfMember, type Member } from './stores/split/shares.ts';
export { createSplitStore } from './stores/split/split-store.ts';
export { Heartbeats, type SendHeartbeat } from './stores/split/heartbeats.ts';
export { heartbeat } from './stores/split/scripts.generated.ts';
export { splitWindowAlgorithm, type SplitWindowPolicy, type SplitWindowState } from './stores/split/split-window.ts';
export { Leases, type LeasePort } from './lease/leases.ts';
export { leasedPolicy } from './lease/lease-policy.ts';
export { Slice } from './lease/slice.ts';
