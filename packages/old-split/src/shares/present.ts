import type { PolicyDecision, Limit, Part, PartAnswer, StoreAnswer } from '@sluice/old-core';
import { warnOnce } from '@sluice/old-core/spi';
import type { KnownEpoch } from './known-epochs.ts';
import type { MembershipClock } from '../membership/membership-clock.ts';
import type { Share } from './split-policy.ts';

/**
 * An answer of this instance's memory as clients see it: with the limit of the whole policy, and with waits until this
 * instance allows.
 */
export function present(
  answer: StoreAnswer,
  parts: readonly Part[],
  sharesOf: (limit: Limit) => readonly Share[],
  clock: MembershipClock,
): StoreAnswer {
  return {
    ...answer,
    atMs: clock.earliestMs,
    parts: answer.parts.map((part, i) => {
      const { limit, cost } = parts[i] as Part;
      const shares = sharesOf(limit);
      return presentPart(part, answer.atMs, (decision, j) => presentPolicy(decision, shares[j] as Share, cost, clock));
    }),
  };
}

type PresentPolicy = (decision: PolicyDecision, index: number) => PolicyDecision;

/**
 * Written field by field: a spread of `part` takes as long as the decision. No limit of a split store has an
 * escalation, so that `forgottenAfterMs` is never there.
 *
 * @param atMs - The instant of the memory's clock, which windows and refunds go by.
 */
function presentPart(part: PartAnswer, atMs: number, presented: PresentPolicy): PartAnswer {
  const { blocked, policies, ifConsumed } = part;
  const now = { blocked, atMs, policies: policies.map(presented) };
  return ifConsumed === undefined ? now : { ...now, ifConsumed: ifConsumed.map(presented) };
}

function presentPolicy(decision: PolicyDecision, share: Share, cost: number, clock: MembershipClock): PolicyDecision {
  const growsInMs = Math.max(share.eventualAtMs - clock.earliestMs, 1);
  let { retryAfterMs, nextAfterMs } = decision;
  if (retryAfterMs === null && cost <= share.eventual) retryAfterMs = Math.max(growsInMs, nextAfterMs ?? 0);
  if (nextAfterMs === null && decision.remaining === 0 && share.eventual > 0) nextAfterMs = growsInMs;
  if (share.whole === 0) nextAfterMs = null;
  return {
    ...decision,
    limit: share.whole,
    used: share.whole - decision.remaining,
    retryAfterMs: retryAfterMs === null ? null : clock.longestWaitMs(retryAfterMs),
    nextAfterMs: nextAfterMs === null ? null : clock.longestWaitMs(nextAfterMs),
  };
}

/** Warns once about each policy of which this instance has no units, now and when its share is due. */
export function warnOfZeroShares({ keySuffix }: Limit, shares: readonly Share[], latest: KnownEpoch): void {
  if (latest.weight === 0) return;
  const limiter = keySuffix.split(':')[1] ?? '';
  const instances = latest.members?.length ?? latest.total;
  for (const { eventual, isUncountable, named, whole } of shares) {
    if (eventual > 0 || whole === 0) continue;
    const why = isUncountable
      ? 'its share cannot be counted exactly. Write the policy in smaller numbers'
      : 'the limit is smaller than one unit per instance. Let fewer instances share it, or keep it in Redis';
    warnOnce(
      'SLUICE_SPLIT_SHARE_ZERO',
      `The policy ${named.name} of the limiter ${limiter} denies all requests of this instance: the limit ${String(whole)} split over ${String(instances)} instances leaves 0 for this one, because ${why}.`,
      `${limiter} ${named.name}`,
    );
  }
}
