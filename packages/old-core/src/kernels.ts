// The algorithms for a browser: no clock, no store, no network. Nothing here imports a `node:` module or a client of
// Redis; a test of the playground bundles it and says so.
export { fixedWindow } from './algorithms/fixed-window/index.ts';
export { slidingCounter } from './algorithms/sliding-counter/index.ts';
export { slidingWindow } from './algorithms/sliding-window/index.ts';
export { slidingLog } from './algorithms/sliding-log/index.ts';
export { tokenBucket } from './algorithms/token-bucket/index.ts';
export { leakyBucket } from './algorithms/leaky-bucket/index.ts';
export { concurrency } from './algorithms/concurrency/index.ts';
export { algorithms, type Policy } from './algorithms/index.ts';
export { parseDuration, writtenDuration, type Duration } from './values/duration.ts';
export { holdsSlots, namePolicies, type NamedPolicy } from './engine/policy.ts';
export { combine, type Decision, type PolicyDecision } from './engine/decision.ts';
export { evaluate } from './engine/evaluate.ts';
export type { KeyState, Limit, Part, PartAnswer } from './engine/store.ts';
export { LARGEST_LIMIT } from './values/numbers.ts';
export { PolicyError, SluiceError, shown } from './errors.ts';
