// What the workspace's own tests look at. Not part of the package: its exports leave this out.
export { algorithms, algorithmOf, type AnyAlgorithm } from './algorithms/index.ts';
export type { Algorithm, Kernel, PolicyBase, Verdict } from './algorithms/algorithm.ts';
export { ClientList } from './http/client-list.ts';
export { quotaItem, stateItem } from './http/headers.ts';
export { LimiterCore } from './limiter-core.ts';
export { namePolicies, namePolicy, type NamedPolicy } from './policy.ts';
export { encodeSubject, keyScope } from './key.ts';
export { evaluate, keyResetAtMs, type KeyState } from './stores/evaluate.ts';
export { readValue, writeValue } from './stores/redis/value.ts';
export { createRedisStore } from './stores/redis/redis-store.ts';
export { hashSlot } from './stores/redis/hash-slot.ts';
export { frame, runs } from './stores/redis/scripts.generated.ts';
export { shareOfMember, type Member } from './stores/split/shares.ts';
export { createSplitStore } from './stores/split/split-store.ts';
export type { LocalClocks } from './stores/split/membership-clock.ts';
export { Heartbeats, type LocalTime, type SendHeartbeat } from './stores/split/heartbeats.ts';
export { heartbeat } from './stores/split/scripts.generated.ts';
export { splitWindowAlgorithm, type SplitWindowPolicy, type SplitWindowState } from './stores/split/split-window.ts';
