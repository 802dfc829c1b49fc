import type { AnyAlgorithm } from '../../algorithms/index.ts';
import type { PolicyBase } from '../../algorithms/algorithm.ts';
import type { FixedWindowPolicy } from '../../algorithms/fixed-window/policy.ts';
import type { SlidingWindowPolicy } from '../../algorithms/sliding-window/policy.ts';
import type { TokenBucketPolicy } from '../../algorithms/token-bucket/policy.ts';
import { PolicyError, shown } from '../../errors.ts';
import type { NamedPolicy } from '../../policy.ts';
import { bucketOf, bucketPart, fillMs, smallerPart, type BucketPart } from './bucket-part.ts';
import { closed } from './closed.ts';
import type { KnownEpoch, KnownEpochs } from './known-epochs.ts';
import type { MembershipClock } from './membership-clock.ts';
import { splitWindowAlgorithm, type SplitWindowPolicy } from './split-window.ts';

/** What a policy's share is made from. */
export interface Grounds {
  readonly epochs: KnownEpochs;
  readonly clock: MembershipClock;
  /** How long after an epoch is over somebody may still act by it. */
  readonly graceMs: number;
}

/** This instance's share of a policy, at present. */
export interface Share {
  /** The policy as it is counted here. */
  readonly named: NamedPolicy;
  /** The units of the whole policy. */
  readonly whole: number;
  /** The same but, while there is no share, as it was before: what states are converted from. */
  readonly open: NamedPolicy;
  /** To be made anew when the earlier end of the clock reaches this, */
  readonly untilEarliestMs: number;
  /** or the later end this. */
  readonly untilLatestMs: number;
  /** The share that there is going to be, if nothing changes, and from when. */
  readonly eventual: number;
  readonly eventualAtMs: number;
  /** Whether the present members leave a share of nothing because it cannot be counted. */
  readonly isUncountable: boolean;
}

const WHY_NOT: Readonly<Record<string, string>> = {
  fixedWindow: 'its windows begin at the first unit, in each instance at another time: write align: "clock"',
  intervalBucket: 'its units come back at once, in each instance at another time: leave mode: "interval" out',
  slidingLog:
    'an instance would refuse what fits, for want of a share: use slidingWindow, or keep this limit in redisStore',
  concurrency: 'nobody else would know the slots of an instance that is gone: keep this limit in redisStore',
};

/** @throws PolicyError for a policy that no shares of instances can keep. */
export function checkSplittable({ name, policy }: NamedPolicy): void {
  const { algorithm, align } = policy as PolicyBase & { readonly align?: string };
  if (algorithm === 'slidingWindow' || algorithm === 'tokenBucket') return;
  if (algorithm === 'fixedWindow' && align === 'clock') return;
  const why =
    WHY_NOT[algorithm] ??
    'what it promises does not add up over shares: use fixedWindow with align: "clock", slidingWindow or tokenBucket';
  throw new PolicyError('policy', `splitStore cannot split the policy ${shown(name)} (${algorithm}): ${why}`);
}

/** How long after an epoch is over (and the grace time) it still counts, besides where a fixed window begins. */
function spanMs({ policy }: NamedPolicy, epoch: KnownEpoch): number {
  switch (policy.algorithm) {
    case 'slidingWindow':
      return (policy as SlidingWindowPolicy).windowMs;
    case 'tokenBucket':
      return fillMs(policy as TokenBucketPolicy, epoch);
    default:
      return 0;
  }
}

/**
 * Shows every epoch that counts after an instant, the latest first, and from when it no longer does. Of a bucket that is not before
 * everybody's of that time and since is full again.
 */
function eachEpoch(
  named: NamedPolicy,
  { epochs, graceMs }: Grounds,
  sinceMs: number,
  look: (epoch: KnownEpoch, overAtMs: number) => void,
): void {
  let longestMs = 0;
  for (let i = epochs.list.length - 1; i >= 0; i--) {
    const epoch = epochs.list[i] as KnownEpoch;
    longestMs = Math.max(longestMs, spanMs(named, epoch));
    const overAtMs = epoch.untilMs + graceMs + longestMs;
    if (overAtMs <= sinceMs && named.policy.algorithm !== 'tokenBucket') return; // and so are all before
    if (overAtMs > sinceMs) look(epoch, overAtMs);
  }
}

/** Whether this instance has been a member in every epoch that counts by now, hence has its share. */
export function untilMemberMs(named: NamedPolicy, grounds: Grounds): number {
  const nowMs = grounds.clock.earliestMs;
  let atMs = nowMs;
  eachEpoch(named, grounds, startedMs(named, nowMs), ({ weight }, overAtMs) => {
    if (weight === 0) atMs = Math.max(atMs, grownMs(named, overAtMs));
  });
  return atMs - nowMs;
}

/** The instant that a share of now depends on: in a fixed window, when it began. */
function startedMs({ policy }: NamedPolicy, nowMs: number): number {
  if (policy.algorithm !== 'fixedWindow') return nowMs;
  const { windowMs } = policy as FixedWindowPolicy;
  return Math.floor(nowMs / windowMs) * windowMs;
}

/** When a share grows that may grow then: that of a fixed window when the next one begins. */
function grownMs({ policy }: NamedPolicy, atMs: number): number {
  if (policy.algorithm !== 'fixedWindow') return atMs;
  const { windowMs } = policy as FixedWindowPolicy;
  return Math.ceil(atMs / windowMs) * windowMs;
}

/** The share of a policy, by what is known now. */
export function shareOf(named: NamedPolicy, grounds: Grounds, before?: Share): Share {
  switch (named.policy.algorithm) {
    case 'fixedWindow':
      return fixedShare(named, named.policy as FixedWindowPolicy, grounds);
    case 'slidingWindow':
      return slidingShare(named, named.policy as SlidingWindowPolicy, grounds, before);
    default:
      return bucketShare(named, named.policy as TokenBucketPolicy, grounds, before);
  }
}

function fixedShare(named: NamedPolicy, whole: FixedWindowPolicy, grounds: Grounds): Share {
  const { epochs, clock } = grounds;
  const { limit, windowMs } = whole;
  const startMs = startedMs(named, clock.earliestMs);
  const endMs = startMs + windowMs;
  const latest = epochs.latest;
  const eventual = epochs.shareOf(limit, latest);
  let [here, next, eventualAtMs] = [eventual, eventual, -Infinity];
  eachEpoch(named, grounds, startMs, (epoch, overAtMs) => {
    const share = epochs.shareOf(limit, epoch);
    here = Math.min(here, share);
    if (overAtMs > endMs) next = Math.min(next, share);
    if (share < eventual) eventualAtMs = Math.max(eventualAtMs, grownMs(named, overAtMs));
  });
  const policy: SplitWindowPolicy = {
    algorithm: 'splitWindow',
    limit: here,
    nextLimit: next,
    windowMs,
    endMs,
    mayBeOver: clock.latestMs >= endMs,
    aheadMs: clock.aheadMs,
  };
  const own = counted(named, splitWindowAlgorithm as unknown as AnyAlgorithm, policy);
  return {
    named: own,
    open: own,
    whole: limit,
    untilEarliestMs: endMs,
    untilLatestMs: policy.mayBeOver ? Infinity : endMs,
    eventual,
    eventualAtMs,
    isUncountable: false,
  };
}

function slidingShare(
  named: NamedPolicy,
  whole: SlidingWindowPolicy,
  grounds: Grounds,
  before: Share | undefined,
): Share {
  const units = (epoch: KnownEpoch): number => grounds.epochs.shareOf(whole.limit, epoch);
  let limit = Infinity;
  const times = whileCounting(named, grounds, (epoch) => {
    limit = Math.min(limit, units(epoch));
  });
  const eventual = units(grounds.epochs.latest);
  return openOrClosed(named, slidingOf(whole, limit), before, { eventual, ...times });
}

function slidingOf(whole: SlidingWindowPolicy, limit: number): SlidingWindowPolicy | undefined {
  return limit > 0 ? { ...whole, limit } : undefined;
}

function bucketShare(named: NamedPolicy, whole: TokenBucketPolicy, grounds: Grounds, before: Share | undefined): Share {
  let part: BucketPart | undefined;
  const times = whileCounting(named, grounds, (epoch) => {
    part = smallerPart(bucketPart(whole, epoch, grounds.epochs), part);
  });
  const last = bucketPart(whole, grounds.epochs.latest, grounds.epochs);
  const eventual = bucketOf(whole, last) === undefined ? 0 : last.capacity;
  const isUncountable = last.capacity > 0 && eventual === 0;
  return openOrClosed(named, bucketOf(whole, part ?? last), before, { eventual, isUncountable, ...times });
}

interface Times {
  readonly untilEarliestMs: number;
  readonly eventualAtMs: number;
}

/** Shows every epoch that counts now, and answers until when it is these, and when the last but the present one is over. */
function whileCounting(named: NamedPolicy, grounds: Grounds, look: (epoch: KnownEpoch) => void): Times {
  let [untilEarliestMs, eventualAtMs] = [Infinity, -Infinity];
  eachEpoch(named, grounds, grounds.clock.earliestMs, (epoch, overAtMs) => {
    look(epoch);
    if (epoch.untilMs === Infinity) return;
    untilEarliestMs = Math.min(untilEarliestMs, overAtMs);
    eventualAtMs = Math.max(eventualAtMs, overAtMs);
  });
  return { untilEarliestMs, eventualAtMs };
}

/** The share under this policy or, where there is none, the one before, closed: its states wait there. */
function openOrClosed(
  whole: NamedPolicy,
  policy: PolicyBase | undefined,
  before: Share | undefined,
  rest: Times & { readonly eventual: number; readonly isUncountable?: boolean },
): Share {
  const { algorithm } = whole;
  const [units = 0] = algorithm.numbers(whole.policy);
  const open = policy === undefined ? (before?.open ?? whole) : counted(whole, algorithm, policy);
  const named = policy === undefined ? counted(whole, closed(algorithm), open.policy) : open;
  return { named, open, whole: units, untilLatestMs: Infinity, isUncountable: false, ...rest };
}

/** What a client is told of the window is true of the whole. */
function counted({ name, windowMs }: NamedPolicy, algorithm: AnyAlgorithm, policy: PolicyBase): NamedPolicy {
  return { name, algorithm, policy, windowMs };
}
