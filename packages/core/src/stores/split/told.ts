import type { PolicyDecision } from '../../decision.ts';
import { warnOnce } from '../../warnings.ts';
import type { Limit, Part, PartAnswer, StoreAnswer } from '../store.ts';
import type { KnownEpoch } from './known-epochs.ts';
import type { MembershipClock } from './membership-clock.ts';
import type { Share } from './split-policy.ts';

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

/**
 * Makes of the answer of this instance's memory, which nobody else holds, what is true for a client: the whole limit, and
 * waits until this instance admits.
 */
export function tell(
  parts: readonly Part[],
  given: StoreAnswer,
  sharesOf: (limit: Limit) => readonly Share[],
  clock: MembershipClock,
): void {
  const answer = given as Writable<StoreAnswer>;
  for (let i = 0; i < parts.length; i++) {
    const { limit, cost } = parts[i] as Part;
    const told = answer.parts[i] as Writable<PartAnswer>;
    const shares = sharesOf(limit);
    told.atMs = answer.atMs; // windows and refunds go by the memory's clock
    for (let j = 0; j < shares.length; j++) {
      const share = shares[j] as Share;
      tellPolicy(told.policies[j], share, cost, clock);
      tellPolicy(told.ifTaken?.[j], share, cost, clock);
      tellPolicy(told.ifNotTaken?.[j], share, cost, clock);
    }
  }
  answer.atMs = clock.earliestMs;
}

function tellPolicy(decision: PolicyDecision | undefined, share: Share, cost: number, clock: MembershipClock): void {
  if (decision === undefined) return;
  const told = decision as Writable<PolicyDecision>;
  const growsInMs = Math.max(share.eventualAtMs - clock.earliestMs, 1);
  told.limit = share.whole;
  if (told.retryAfterMs === null && cost <= share.eventual) {
    told.retryAfterMs = Math.max(growsInMs, told.nextAfterMs ?? 0);
  }
  if (told.nextAfterMs === null && told.remaining === 0 && share.eventual > 0) told.nextAfterMs = growsInMs;
  if (told.retryAfterMs !== null) told.retryAfterMs = clock.longestWaitMs(told.retryAfterMs);
  if (told.nextAfterMs !== null) told.nextAfterMs = clock.longestWaitMs(told.nextAfterMs);
}

/** Warns once of each policy of which this member has nothing, and is not going to have anything. */
export function warnOfNothing({ scope }: Limit, shares: readonly Share[], latest: KnownEpoch): void {
  if (latest.weight === 0) return;
  const limiter = scope.split(':')[1] ?? '';
  const instances = latest.members?.length ?? latest.total;
  for (const { eventual, isUncountable, named, whole } of shares) {
    if (eventual > 0) continue;
    const why = isUncountable
      ? 'its share cannot be counted exactly: write the policy in smaller numbers'
      : 'that is too little for everybody to have a unit: let fewer instances share it, or keep it in Redis';
    warnOnce(
      'SLUICE_SPLIT_SHARE_ZERO',
      `This instance refuses whatever comes by the policy ${named.name} of the limiter ${limiter}: of a limit of ${String(whole)}, shared by ${String(instances)} instances, it has nothing, for ${why}.`,
      `${limiter} ${named.name}`,
    );
  }
}
