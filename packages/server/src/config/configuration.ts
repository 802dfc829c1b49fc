import type { Policy } from '@sluice/core';
import type { Limit } from '@sluice/core/spi';
import type { RulePolicy } from '../limits.ts';
import type { KeyOverride } from './key-overrides.ts';

/** One entry of a descriptor, in Envoy's words. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/** A checked configuration: another object after each reload. */
export interface Configuration {
  /** The rules of each domain of the rate limit service. */
  readonly domains: ReadonlyMap<string, RuleTree>;
  /** The named limits that the native protocol decides over. */
  readonly limits: ReadonlyMap<string, NamedLimit>;
  readonly forwardAuth: ForwardAuthSettings | undefined;
  /** The rules of Sentinel's protocol. */
  readonly sentinel: SentinelSettings;
  /** The rules as text, one a line, for `/rlconfig`. Holds no values of requests. */
  written(): string;
}

/** The tree of matchers of one domain. */
export interface RuleTree {
  /**
   * The rule of a descriptor: that of its last entry, at the same depth. Per level an exact key and value come first,
   * then values with `*` in their order, then the key alone. Undefined where no rule limits it.
   */
  match(entries: readonly DescriptorEntry[]): Match | undefined;
  /** Every rule with its name in metrics, in the order of the file. */
  rules(): Iterable<{ readonly name: string; readonly rule: Rule }>;
}

/** A rule that a descriptor has met. */
export interface Match {
  readonly rule: Rule;
  /**
   * Domain and entries, joined so that no two descriptors share it. With `share_threshold` the matching
   * pattern stands in place of the value.
   */
  readonly key: string;
  /** The name of the rule in metrics: bounded, see `detailed_metric` and `value_to_metric`. */
  readonly metric: string;
}

/** A rule of the file: a limit of descriptors, and how it takes part in the decision. */
export interface Rule {
  /** `name` of the rule, if it has one: other rules `replaces` it, and it goes out as `current_limit.name`. */
  readonly name: string | undefined;
  /** Undefined where the rule is `unlimited`. */
  readonly limit: Limit | undefined;
  /**
   * The value of `rate_limit`, for `current_limit`; undefined where the rule is `unlimited`, or has a `sluice` policy.
   */
  readonly rateLimit: { readonly requestsPerUnit: number; readonly unit: Unit } | undefined;
  /** Names of rules that are left out of a request in which this one takes part. */
  readonly replaces: readonly string[];
  /** Decided by itself: never denies. */
  readonly shadowMode: boolean;
  /** Taken if it allows. The request is denied when no rule in quota mode allows. */
  readonly quotaMode: boolean;
  /** `metadata` of the file, as JSON has it: for `dynamic_metadata` of the answer. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The policy of `sluice` as text. */
  readonly written?: string;
}

export const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type Unit = (typeof UNITS)[number];

/** A policy under a name, for the native protocol. */
export interface NamedLimit {
  readonly name: string;
  readonly policy: RulePolicy;
  readonly limit: Limit;
  /** The name of the managed policy that it is. */
  readonly managed: string | undefined;
  /** The policy of keys without an override; undefined if it is managed. */
  readonly base: Policy | undefined;
  /** The policy as text. */
  readonly written: string;
  /** Other numbers of single keys. */
  readonly overrides: readonly KeyOverride[];
}

/** The part `forward_auth` of a file. */
export interface ForwardAuthSettings {
  /** Addresses and CIDR ranges whose `X-Forwarded-*` fields are believed. */
  readonly trustedProxies: readonly string[];
  readonly rules: readonly ForwardAuthRule[];
}

/** A rule of `forward_auth`. The first of several matching rules decides. */
export interface ForwardAuthRule {
  /** That of the file, or `rule-1` and so on by its place. No two rules have names that differ only in case. */
  readonly name: string;
  /** Patterns of paths, at least one: `/*` where the file has none. Methods in capitals; none: every method. */
  readonly match: { readonly paths: readonly string[]; readonly methods: readonly string[] };
  /** `ip`, `route`, `method`, `all`, or `header:NAME`. */
  readonly key: readonly string[];
  readonly cost: number;
  /** Requests of this rule pass without a decision. */
  readonly skip: boolean;
  /** Undefined with `skip`. */
  readonly policy: RulePolicy | undefined;
  /** The policy as text. */
  readonly written: string;
}

/** The parts `sentinel` of all files. */
export interface SentinelSettings {
  /** By `flowId`. */
  readonly flows: ReadonlyMap<bigint, SentinelRule>;
  readonly params: ReadonlyMap<bigint, SentinelRule>;
  /** Requests a second of each namespace that has rules. */
  readonly namespaces: ReadonlyMap<string, number>;
}

/** A `FlowRule` or `ParamFlowRule` of Sentinel in cluster mode, and its limits. */
export interface SentinelRule {
  readonly numbers: SentinelNumbers;
  /** Its name in metrics. */
  readonly name: string;
  /**
   * The limit now. All limits of a rule have one state, so that a client that comes or goes forgets nothing.
   *
   * @param clients - The connected clients of its namespace.
   * @param value - The parameter, as `writtenParameter` has it.
   */
  limit(clients: number, value?: string): Limit;
  /** The rule as text, for `/rlconfig`. */
  written(): string;
}

/** The numbers of a rule. */
export interface SentinelNumbers {
  /** Unique among the rules of one kind, whatever their namespaces. */
  readonly flowId: bigint;
  readonly resource: string;
  /** The application that the rule belongs to: its connected clients count for `perClient`. */
  readonly namespace: string;
  /** Units in a second; those of a whole interval are in proportion. */
  readonly count: number;
  /** `thresholdType` AVG_LOCAL: the count is that of one client, and the limit that times the connected ones. */
  readonly perClient: boolean;
  readonly windowIntervalMs: number;
  readonly sampleCount: number;
  /** Counts of single values, as `writtenParameter` has them. Undefined for rules without parameters. */
  readonly values: ReadonlyMap<string, number> | undefined;
}
