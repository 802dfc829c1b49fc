export { managed, type ManagedReference } from './managed.ts';
export { createPolicies, type ManagedPolicy, type Policies, type PutResult } from './policies.ts';
export type { PutOptions } from './options.ts';
export type { EarlierPolicy, PolicyRecord, PolicySource } from './policy-source.ts';
export { definitionsOf } from './definitions.ts';
