import { fixedWindow, PolicyError, type Policy } from '@sluice/core';
import { managed } from '@sluice/core/managed';
import type { Limit } from '@sluice/core/spi';
import type { MakeLimit, RulePolicy } from '../limits.ts';
import { ConfigurationError, type Place, type Problem } from './configuration-error.ts';
import type { ConfigurationData, ForwardAuthRuleData, PolicyData, RuleData } from './configuration-data.ts';
import { RuleNode, type Rule } from './rule-node.ts';
import { SentinelRule } from './sentinel-rule.ts';
import { MS_OF_UNIT } from './units.ts';

/** The configuration of the service: another object after each reload. */
export interface Configuration {
  /** The rules of each domain of the rate limit service. */
  readonly domains: ReadonlyMap<string, RuleNode>;
  /** The named limits of the native protocol. */
  readonly limits: ReadonlyMap<string, Limit>;
  readonly forwardAuth:
    { readonly trustedProxies: readonly string[]; readonly rules: readonly ForwardAuthRule[] } | undefined;
  /** The rules of Sentinel's protocol by `flowId`, and the applications that have any. */
  readonly sentinel: {
    readonly flows: ReadonlyMap<bigint, SentinelRule>;
    readonly params: ReadonlyMap<bigint, SentinelRule>;
    readonly namespaces: ReadonlySet<string>;
  };
}

/** Its limit is undefined with `skip`. */
export type ForwardAuthRule = ForwardAuthRuleData & { readonly limit: Limit | undefined };

/**
 * The policy of a rate: a fixed window aligned to the clock, as Envoy's are. It is named after its unit, and the name
 * is part of the key: a change of unit starts a new state, a change of the number does not.
 */
export function makeRatePolicy({ requestsPerUnit, unit }: NonNullable<RuleData['rateLimit']>): Policy {
  return fixedWindow({ limit: requestsPerUnit, window: MS_OF_UNIT[unit], align: 'clock', name: unit });
}

/**
 * Creates the limits of a configuration.
 *
 * @throws ConfigurationError for policies that the store or the core cannot use.
 */
export function buildConfiguration(data: ConfigurationData, makeLimit: MakeLimit): Configuration {
  const problems: Problem[] = [];
  const check = <T>(at: Place, make: () => T): T | undefined => {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      problems.push({ ...at, message: error.message });
      return undefined;
    }
  };
  const limitFor = (policy: PolicyData): Limit => check(policy.at, () => makeLimit(readRulePolicy(policy))) as Limit; // undefined beside a problem, with which nothing is returned
  const ruleFor = (rule: RuleData): Rule => {
    const { policy, rateLimit } = rule;
    if (policy !== undefined || rateLimit === undefined) return { ...rule, limit: policy && limitFor(policy) };
    let limit: Limit | undefined; // made when it is first needed: files have thousands, whose rates are always good
    return {
      ...rule,
      get limit() {
        return (limit ??= makeLimit(makeRatePolicy(rateLimit)));
      },
    };
  };

  const domains = new Map<string, RuleNode>();
  for (const { name, descriptors } of data.domains) {
    const root = domains.get(name) ?? RuleNode.root(name);
    domains.set(name, root);
    root.addAll(descriptors, ruleFor);
  }
  const limits = new Map([...data.limits].map(([name, policy]) => [name, limitFor(policy)]));
  const sentinel = data.sentinelRules.flatMap(
    (numbers) => check(numbers.at, () => new SentinelRule(numbers, makeLimit)) ?? [],
  );
  const byId = (isParam: boolean): ReadonlyMap<bigint, SentinelRule> => {
    const rules = sentinel.filter(({ numbers }) => (numbers.values !== undefined) === isParam);
    return new Map(rules.map((rule) => [rule.numbers.flowId, rule]));
  };
  const forwardAuth = data.forwardAuth && {
    ...data.forwardAuth,
    rules: data.forwardAuth.rules.map((rule): ForwardAuthRule => ({
      ...rule,
      limit: rule.policy && limitFor(rule.policy),
    })),
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  return {
    ...{ domains, forwardAuth, limits },
    sentinel: {
      ...{ flows: byId(false), params: byId(true) },
      namespaces: new Set(data.sentinelRules.map(({ namespace }) => namespace)),
    },
  };
}

function readRulePolicy({ policies, managed: name }: PolicyData): RulePolicy {
  if (name !== undefined) return managed(name);
  const [only] = policies as readonly [Policy];
  return policies.length > 1 ? policies : only;
}

/** How many limits operators see. */
const MAX_KNOWN = 1_000;

/** The limits of a configuration, named limits first. */
export function listKnownLimits({ domains, limits }: Configuration): Limit[] {
  const known = [...limits.values()];
  for (const root of domains.values()) {
    for (const rule of root.rules()) {
      if (known.length >= MAX_KNOWN) return known.slice(0, MAX_KNOWN);
      if (rule.limit !== undefined) known.push(rule.limit);
    }
  }
  return known.slice(0, MAX_KNOWN);
}
