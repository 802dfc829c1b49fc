import type { Limit } from '@sluice/core/spi';
import type { Match, RuleNode } from '../config/rule-node.ts';
import type { RequestRules } from '../config/request-rules.ts';
import { makeKey } from '../config/subject.ts';
import { UNIT_OF_NUMBER } from '../config/units.ts';
import { CallError, Status } from '../grpc/status.ts';
import type { Service } from '../service.ts';
import type { RateLimitDescriptor, RateLimitRequest } from './messages.ts';

/** A descriptor that a limit applies to. */
export interface LimitedDescriptor {
  /** Its place in the request. */
  readonly index: number;
  readonly rule: Match['rule'];
  readonly key: string;
  /** The name of its rule in metrics. */
  readonly metric: string;
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
  /** The places of descriptors whose rule is unlimited. */
  readonly unlimited: ReadonlySet<number>;
  /** Whether all limited descriptors consume and can deny: one decision. */
  readonly isPlain: boolean;
}

/**
 * Finds the rules of a request's descriptors. A limit of the request itself takes precedence over the rules of its
 * domain; in an unknown domain, nothing is limited.
 *
 * @param mayRefund - Whether the caller may give units back.
 * @throws CallError `UNKNOWN` without a domain or descriptors, as envoyproxy/ratelimit; `INVALID_ARGUMENT` for hits or
 * units that mean nothing; `PERMISSION_DENIED` for refunds of a caller that may not. Nothing is consumed then.
 */
export function makePlan(
  request: RateLimitRequest,
  { configuration: { domains }, requestRules }: Service,
  mayRefund: () => boolean,
): Plan {
  const { domain, descriptors } = request;
  if (domain === '') throw new CallError(Status.UNKNOWN, 'the rate limit domain must not be empty');
  if (descriptors.length === 0) throw new CallError(Status.UNKNOWN, 'the list of descriptors must not be empty');
  const tree = domains.get(domain);
  const limited: LimitedDescriptor[] = [];
  const unlimited = new Set<number>();
  let replaced: Set<string> | undefined;
  let isPlain = true;
  for (let index = 0; index < descriptors.length; index++) {
    const descriptor = descriptors[index] as RateLimitDescriptor;
    if (descriptor.isNegativeHits && !mayRefund()) throw forbidden();
    const hits = readHits(request, descriptor);
    const match = tree === undefined ? undefined : findMatch(domain, descriptor, tree, requestRules);
    if (match === undefined) continue;
    const { rule } = match;
    for (const name of rule.replaces) (replaced ??= new Set()).add(name);
    const { limit } = rule;
    if (limit === undefined) {
      unlimited.add(index);
      continue;
    }
    const isCheck = hits === 0;
    const isRefund = descriptor.isNegativeHits;
    isPlain &&= !(isCheck || isRefund || rule.shadowMode || rule.quotaMode);
    limited.push({ ...match, index, limit, cost: isCheck ? 1 : hits, isCheck, isRefund });
  }
  return { limited: replaced === undefined ? limited : without(limited, replaced), unlimited, isPlain };
}

function forbidden(): CallError {
  const what =
    'is_negative_hits needs a private listener, or authorization: Bearer TOKEN with the token of the service';
  return new CallError(Status.PERMISSION_DENIED, `${what}; nothing was consumed`);
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
  return limited.filter(({ rule }) => rule.name === undefined || !replaced.has(rule.name));
}
