// What decides, without a clock, a store or a network. Only packages of this workspace import it: the playground, which runs it in
// a browser. Nothing here imports a `node:` module or a client of Redis; a test of the playground bundles it and says so.
export { fixedWindow } from './algorithms/fixed-window/policy.ts';
export { slidingCounter } from './algorithms/sliding-counter/policy.ts';
export { slidingWindow } from './algorithms/sliding-window/policy.ts';
export { slidingLog } from './algorithms/sliding-log/policy.ts';
export { tokenBucket } from './algorithms/token-bucket/policy.ts';
export { leakyBucket } from './algorithms/leaky-bucket/policy.ts';
export { concurrency } from './algorithms/concurrency/policy.ts';
export { algorithms, type Policy } from './algorithms/index.ts';
export { parseDuration, writtenDuration, type Duration } from './values/duration.ts';
export { holdsSlots, namePolicies, type NamedPolicy } from './engine/policy.ts';
export { combine, type Decision, type PolicyDecision } from './engine/decision.ts';
export { evaluate } from './engine/evaluate.ts';
export type { KeyState, Limit, Part, PartAnswer } from './engine/store.ts';
export { PolicyError } from './errors.ts';
export { denialOf } from './http/response/denial.ts';
export { fieldWriter, type Field, type HeaderFormat } from './http/response/headers.ts';
