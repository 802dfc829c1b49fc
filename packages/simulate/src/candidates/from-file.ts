import type { Limit, NamedPolicy, Policy } from '@sluice/core';
import type { ManagedReference } from '@sluice/managed';
import { writtenPolicy } from '@sluice/core/inspect';
import { namePolicies, type LimitRef } from '@sluice/core/spi';
import {
  ConfigurationError,
  loadConfiguration,
  RouteTable,
  spellingsOf,
  type Configuration,
  type ForwardAuthRule,
} from '@sluice/server/configuration';
import { UsageError } from '../terminal/failure.ts';
import { costSpec } from '../keys/cost-spec.ts';
import { keySpec, type KeySpec } from '../keys/key-spec.ts';
import { RouteTemplates } from '../keys/route-templates.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import { limitOf, type Candidate, type CandidateLimit } from './candidate.ts';
import type { CandidateContext } from './from-text.ts';
import { descriptorCandidates, type DescriptorTexts } from './from-descriptors.ts';

/**
 * The candidates of the service's file: one for the rules of `forward_auth`, one for each of `limits` (by `--key`), and
 * one for each domain whose descriptors `--descriptor` describes.
 *
 * @throws (rejects) UsageError with every problem of the file, or for a file of which nothing can be tried.
 */
export async function candidatesFromFile(
  path: string,
  context: CandidateContext,
  descriptors: DescriptorTexts,
): Promise<readonly Candidate[]> {
  const managed = new Map<string, NamedPolicy[]>();
  const configuration = await read(path, managed);
  for (const [name, policies] of managed) {
    policies.push(...namePolicies({ ...(await context.managed(name)).policy, name }, name));
  }
  const { forwardAuth, limits, domains } = configuration;
  const found: Candidate[] = [];
  if (forwardAuth !== undefined && forwardAuth.rules.length > 0)
    found.push(forwardAuthCandidate(path, forwardAuth.rules, managed));
  for (const { name, policy, limit } of limits.values()) {
    const one: CandidateLimit = {
      limit: limit as Limit,
      key: context.key,
      cost: costSpec(context.cost),
      text: written(policy),
    };
    found.push({ text: `${name}: ${one.text}`, limits: [one] });
  }
  found.push(...descriptorCandidates(domains, descriptors, context));
  if (found.length === 0) {
    throw new UsageError(
      domains.size > 0
        ? `${path}: a log does not say which descriptors Envoy sends; describe them with --descriptor 'remote_address=ip,path=path'`
        : `${path} has neither rules of forward_auth nor limits: there is nothing to try`,
    );
  }
  return found;
}

async function read(path: string, managed: Map<string, NamedPolicy[]>): Promise<Configuration> {
  try {
    return await loadConfiguration(path, {
      limitOf: (policy, name): LimitRef => {
        if ('overrides' in policy) return limitOf(namePolicies(policy.policy, name)); // of keys that a log need not have
        if (!isReference(policy)) return limitOf(namePolicies(policy, name));
        // Filled when the names of all managed policies are known.
        const policies = managed.get(policy.name) ?? [];
        managed.set(policy.name, policies);
        return limitOf(policies);
      },
    });
  } catch (error) {
    if (error instanceof ConfigurationError) throw new UsageError(error.message, { cause: error });
    throw new UsageError(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

function isReference(policy: Policy | readonly Policy[] | ManagedReference): policy is ManagedReference {
  return 'algorithm' in policy && policy.algorithm === 'managed';
}

function written(policy: Policy | ManagedReference): string {
  return policy.algorithm === 'managed' ? `managed ${policy.name}` : writtenPolicy(policy);
}

/** The rules of `forward_auth`, of which the first that matches decides, as the service finds it. */
function forwardAuthCandidate(
  path: string,
  rules: readonly ForwardAuthRule[],
  managed: ReadonlyMap<string, NamedPolicy[]>,
): Candidate {
  const table = new RouteTable(rules);
  /** The place of the limit of a rule and pattern. */
  const places = new Map<string, number>();
  const limits: CandidateLimit[] = [];
  for (const rule of rules) {
    const { policy } = rule;
    if (policy === undefined) continue;
    const policies = policy.algorithm === 'managed' ? managed.get(policy.name) : namePolicies(policy, rule.name);
    for (const pattern of rule.match.paths) {
      places.set(`${rule.name} ${pattern}`, limits.length);
      limits.push({
        limit: limitOf(policies ?? []),
        key: ruleKey(rule, pattern),
        cost: costSpec(String(rule.cost)),
        text: `${rule.name} ${pattern}: ${written(policy)}`,
      });
    }
  }
  return {
    text: `forward_auth of ${path}`,
    limits,
    select: (entry: LogEntry) =>
      (table.find(entry.path, spellingsOf(entry.detail.method)) ?? []).flatMap(({ rule, pattern }) => {
        const place = places.get(`${rule.name} ${pattern.text}`);
        return place === undefined ? [] : [{ place, mode: 'enforced' }];
      }),
  };
}

/** The key of a rule: its name is part of it, so that two rules count apart. */
function ruleKey(rule: ForwardAuthRule, pattern: string): KeySpec {
  const parts = rule.key.filter((part) => part !== 'route');
  const routes = new RouteTemplates([]);
  const inner = parts.length === 0 ? undefined : keySpec(parts.join(','), () => routes);
  const own = rule.key.includes('route') ? `${rule.name}|${pattern}` : rule.name;
  return {
    text: `forward_auth ${own} ${rule.key.join(',')}`,
    needsRoutes: false,
    addressBits: undefined,
    read: (entry) => {
      const key = inner === undefined ? '' : inner.read(entry);
      return key === undefined ? undefined : `${own}|${key}`;
    },
  };
}
