export { managed, type ManagedReference } from './managed.ts';
export {
  createPolicies,
  sourceOf,
  type ManagedPolicy,
  type Policies,
  type PutResult,
  type SourcePolicy,
} from './policies.ts';
export type { CreatePoliciesOptions, PutOptions } from './options.ts';
export type { EarlierPolicy, OverridePage, OverrideSource, PolicyRecord, PolicySource } from './policy-source.ts';
export type { OverrideResult, PolicyOverride } from './edit-overrides.ts';
export type { AuditOptions, ListOverridesOptions, OverrideOptions } from './overrides/options.ts';
export type { EarlierOverride, OverrideRecord } from './overrides/override-record.ts';
export { parseTarget, type OverrideTarget, type Target } from './overrides/target.ts';
export { ByTarget } from './overrides/by-target.ts';
export { definitionsOf } from './definitions.ts';
