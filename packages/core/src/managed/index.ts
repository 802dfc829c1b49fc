export { managed } from './managed.ts';
export {
  createPolicies,
  type ManagedPolicy,
  type OverrideResult,
  type Policies,
  type PolicyChange,
  type PolicyOverride,
  type PutResult,
} from './policies.ts';
export type { ChangeOptions, OverrideOptions, PutOptions } from './options.ts';
export type { PolicyRecord } from './record.ts';
export { redisSource, type RedisSource, type RedisSourceOptions } from './redis-source.ts';
export type { PolicySource } from './source.ts';
export type { OverrideTarget } from './target.ts';
