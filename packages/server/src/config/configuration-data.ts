import type { Policy } from '@sluice/core';
import type { Place } from './configuration-error.ts';
import type { Unit } from './units.ts';

// The checked contents of the files as plain data: one thread reads them, and another uses them.

export interface ConfigurationData {
  /** In the order of the files. Several may share a name. */
  readonly domains: readonly { readonly name: string; readonly descriptors: readonly DescriptorData[] }[];
  /** By name, for the native protocol. */
  readonly limits: ReadonlyMap<string, PolicyData>;
  readonly forwardAuth: ForwardAuthData | undefined;
  readonly sentinelRules: readonly SentinelNumbers[];
}

/** A policy, several named ones, or the name of a managed policy. */
export interface PolicyData {
  readonly at: Place;
  /** Empty if it is managed. */
  readonly policies: readonly Policy[];
  readonly managed?: string;
}

export interface DescriptorData {
  readonly key: string;
  /** Empty: any value. */
  readonly value: string;
  readonly rule: RuleData | undefined;
  /** Requests that match the pattern are counted under it, not under their values. */
  readonly shareThreshold: boolean;
  readonly descriptors: readonly DescriptorData[];
}

/** A limit of descriptors, and how it takes part in the decision. */
export interface RuleData {
  /** Other rules refer to it in `replaces`, and responses contain it as `current_limit.name`. */
  readonly name: string | undefined;
  /** The value of `rate_limit`, for `current_limit`; undefined if the rule is `unlimited`, or has a `sluice` policy. */
  readonly rateLimit: { readonly requestsPerUnit: number; readonly unit: Unit } | undefined;
  /** The value of `sluice`. */
  readonly policy?: PolicyData;
  /** Names of rules that do not apply to a request if this one does. */
  readonly replaces: readonly string[];
  /** Decided separately: never denies. */
  readonly shadowMode: boolean;
  /** Taken if it allows. The request is denied when no rule in quota mode allows. */
  readonly quotaMode: boolean;
  /** `metadata` of the file as JSON, for the response's `dynamic_metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface ForwardAuthData {
  /** Addresses and CIDR ranges whose `X-Forwarded-*` fields are trusted. */
  readonly trustedProxies: readonly string[];
  readonly rules: readonly ForwardAuthRuleData[];
}

/** The first of several matching rules decides. */
export interface ForwardAuthRuleData {
  /** The name in the file, or `rule-1` and so on by its place. Names of two rules never differ only in case. */
  readonly name: string;
  /** Patterns of paths, at least one: `/*` if the file has none. Methods in upper case; none: every method. */
  readonly match: { readonly paths: readonly string[]; readonly methods: readonly string[] };
  /** `ip`, `route`, `method`, `all`, or `header:NAME`. */
  readonly key: readonly string[];
  readonly cost: number;
  /** Whether requests of this rule pass without a decision. */
  readonly skip: boolean;
  /** Undefined with `skip`. */
  readonly policy: PolicyData | undefined;
}

/** A `FlowRule` or `ParamFlowRule` of Sentinel in cluster mode. */
export interface SentinelNumbers {
  readonly at: Place;
  /** Unique among the rules of one kind, whatever their namespaces. */
  readonly flowId: bigint;
  readonly resource: string;
  /** The application that the rule belongs to: its connected clients count for `perClient`. */
  readonly namespace: string;
  /** The maximum number of connected clients that raise a count per client. */
  readonly maxClients: number;
  /** Units per second; a whole interval has units in proportion. */
  readonly count: number;
  /** `thresholdType` AVG_LOCAL: the count is for one client, and the limit is the count times the connected clients. */
  readonly perClient: boolean;
  readonly windowIntervalMs: number;
  readonly sampleCount: number;
  /** Counts of single values, as `formatParameter` writes them. Undefined for rules without parameters. */
  readonly values: ReadonlyMap<string, number> | undefined;
}
