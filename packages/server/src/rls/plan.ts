import type { Limit } from '@sluice/core/spi';
import type { Configuration } from '../config/configuration.ts';
import type { Match, RuleNode } from '../config/rule-node.ts';
import type { RequestRules } from '../config/request-rules.ts';
import { makeKey } from '../config/subject.ts';
import { UNIT_OF_NUMBER } from '../config/units.ts';
import { CallError, Status } from '../grpc/status.ts';
import type { RateLimitDescriptor, RateLimitRequest } from './messages.ts';

/** A descriptor that a limit applies to. */
export interface LimitedDescriptor {
  /** Its place in the request. */
  readonly index: number;
  readonly match: Match;
  readonly limit: Limit;
  /** Its hits, or 1 for a check. */
  readonly cost: number;
  /** Whether its hits are 0: it is checked, and takes nothing. */
  readonly isCheck: boolean;
  readonly isRefund: boolean;
}

/** The contents of a request. */
export interface Plan {
  readonly limited: readonly LimitedDescriptor[];
  /** Whether the rule of each descriptor is unlimited. Undefined if none is. */
  readonly unlimited: readonly boolean[] | undefined;
  /** Whether all limited descriptors consume and can deny: one decision. */
  readonly isPlain: boolean;
}

/**
 * Finds the rules of a request's descriptors. A limit of the request itself takes precedence over the rules of its
 * domain; in an unknown domain, nothing is limited.
 *
 * @throws CallError `UNKNOWN` without a domain or descriptors, as envoyproxy/ratelimit; `INVALID_ARGUMENT` for invalid
 * hits or units. Nothing is consumed then.
 */
export function makePlan(request: RateLimitRequest, { domains }: Configuration, requestRules: RequestRules): Plan {
  const { domain, descriptors } = request;
  if (domain === '') throw new CallError(Status.UNKNOWN, 'the rate limit domain must not be empty');
  if (descriptors.length === 0) throw new CallError(Status.UNKNOWN, 'the list of descriptors must not be empty');
  const tree = domains.get(domain);
  const limited: LimitedDescriptor[] = [];
  let unlimited: boolean[] | undefined;
  let replaced: Set<string> | undefined;
  let isPlain = true;
  for (let index = 0; index < descriptors.length; index++) {
    const descriptor = descriptors[index] as RateLimitDescriptor;
    const hits = readHits(request, descriptor);
    const match = tree === undefined ? undefined : findMatch(domain, descriptor, tree, requestRules);
    if (match === undefined) continue;
    const { rule } = match;
    for (const name of rule.replaces) (replaced ??= new Set()).add(name);
    const { limit } = rule;
    if (limit === undefined) {
      (unlimited ??= descriptors.map(() => false))[index] = true;
      continue;
    }
    const isCheck = hits === 0;
    const isRefund = descriptor.isNegativeHits;
    isPlain &&= !(isCheck || isRefund || rule.shadowMode || rule.quotaMode);
    limited.push({
      index,
      match,
      limit,
      cost: isCheck ? 1 : hits,
      isCheck,
      isRefund,
    });
  }
  return { limited: replaced === undefined ? limited : without(limited, replaced), unlimited, isPlain };
}

function readHits({ hitsAddend }: RateLimitRequest, descriptor: RateLimitDescriptor): number {
  const hits = descriptor.hitsAddend ?? Math.max(hitsAddend, 1);
  if (Number.isSafeInteger(hits)) return hits;
  throw new CallError(
    Status.INVALID_ARGUMENT,
    `hits_addend must be at most ${String(Number.MAX_SAFE_INTEGER)}, got more; nothing was consumed`,
  );
}

function findMatch(
  domain: string,
  { entries, limit }: RateLimitDescriptor,
  tree: RuleNode,
  requestRules: RequestRules,
): Match | undefined {
  if (limit === undefined) return entries.length === 0 ? undefined : tree.match(entries);
  const unit = UNIT_OF_NUMBER[limit.unit];
  if (unit === undefined || unit === 'unknown') {
    throw new CallError(
      Status.INVALID_ARGUMENT,
      `the limit of a descriptor needs a unit from 1 (SECOND) to 6 (YEAR), got ${String(limit.unit)}; nothing was consumed`,
    );
  }
  const rule = requestRules.of(limit.requestsPerUnit, unit);
  return { rule, key: makeKey(domain, entries), metric: OVERRIDES };
}

/** The name in metrics of all limits that requests bring: a single one, because their number is unbounded. */
const OVERRIDES = 'override';

function without(limited: readonly LimitedDescriptor[], replaced: ReadonlySet<string>): readonly LimitedDescriptor[] {
  return limited.filter(({ match: { rule } }) => rule.name === undefined || !replaced.has(rule.name));
}
