import { isSluiceError, PolicyError } from '../../errors.ts';
import type { FixedWindowPolicy } from '../../policies/fixed-window.ts';
import { compile, describePolicy, scalePolicy, type Policy } from '../../policies/index.ts';
import type { SlidingWindowPolicy } from '../../policies/sliding-window.ts';
import type { TokenBucketPolicy } from '../../policies/token-bucket.ts';
import { isLess, type KnownEpoch, type KnownEpochs } from './known-epochs.ts';

/** A policy whose shares together keep its limit. */
export type SplittablePolicy = FixedWindowPolicy | SlidingWindowPolicy | TokenBucketPolicy;

/** @throws PolicyError for a policy that cannot be split into shares. */
export function checkSplittable(policy: Policy): asserts policy is SplittablePolicy {
  const { algorithm } = policy;
  if (algorithm === 'slidingWindow' || algorithm === 'tokenBucket') return;
  if (algorithm === 'fixedWindow' && policy.align === 'clock') return;
  const why = 'its shares would not add up to its guarantee';
  const instead = 'use fixedWindow with align: "clock", slidingWindow, tokenBucket without mode, or a redisStore';
  throw new PolicyError('policy', `splitStore cannot split the policy ${describePolicy(policy)}: ${why}; ${instead}`);
}

/** An epoch that still counts for a policy. */
interface CountedEpoch {
  /** This instance's share of the policy's units. */
  readonly units: number;
  readonly weight: number;
  readonly total: number;
  /** When it stops counting, by the membership's clock; `Infinity` for the latest epoch. */
  readonly endsAtMs: number;
}

/** This instance's share of a policy, valid until `untilMs` by the membership's clock, unless an epoch begins. */
export interface Share {
  /** The policy as this instance counts it. */
  readonly policy: Policy;
  /** Units of the whole policy. */
  readonly whole: number;
  readonly untilMs: number;
  /** The length of clock-aligned windows; undefined for other policies. Then `untilMs` is the end of the window. */
  readonly windowMs: number | undefined;
  /** Units that this instance may allow in the next window. */
  readonly next: number;
  /** The latest first. */
  readonly counted: readonly CountedEpoch[];
}

/**
 * This instance's share of a policy at the instant `nowMs` of the membership's clock: the smallest in all epochs that
 * count. An epoch counts until no instance uses it any more, after the grace time, and until what it allowed has
 * expired: the end of the window for clock windows, one window for sliding windows, the time to fill them for buckets.
 */
export function readShare(policy: SplittablePolicy, epochs: KnownEpochs, graceMs: number, nowMs: number): Share {
  const windowMs = policy.algorithm === 'fixedWindow' ? policy.windowMs : undefined;
  const sinceMs = windowMs === undefined ? nowMs : Math.floor(nowMs / windowMs) * windowMs;
  const whole = compile(policy).limit;
  let longestMs = 0;
  const ended = epochs.list.toReversed().map((epoch): [KnownEpoch, number] => {
    longestMs = Math.max(longestMs, getOutlastMs(policy, epoch));
    return [epoch, epoch.untilMs + graceMs + longestMs];
  });
  const counting = ended.filter(([, atMs]) => atMs > sinceMs);
  const shares = epochs.readShares(
    whole,
    counting.map(([epoch]) => epoch),
  );
  const counted = counting.map(([{ weight, total }, atMs], i): CountedEpoch => {
    // A share of a clock window grows with the next window.
    const endsAtMs = windowMs === undefined ? atMs : Math.ceil(atMs / windowMs) * windowMs;
    return { units: shares[i] as number, weight, total, endsAtMs };
  });
  const untilMs = windowMs === undefined ? Math.min(...counted.map(({ endsAtMs }) => endsAtMs)) : sinceMs + windowMs;
  const next = findSmallestShare(counted.filter(({ endsAtMs }) => endsAtMs > untilMs));
  return { policy: scale(policy, counted), whole, untilMs, windowMs, next, counted };
}

/**
 * The share of a key whose current window was counted with fewer units: the larger share applies from the next window
 * on.
 */
export function holdTo(units: number, share: Share): Share {
  const { policy, counted, untilMs } = share;
  const whole = { weight: 1, total: 1 };
  const held: CountedEpoch = { units, ...whole, endsAtMs: untilMs };
  return { ...share, policy: scalePolicy(policy, { units, ...whole }), counted: [...counted, held] };
}

/** When this instance's share reaches this number of units, by the membership's clock; `Infinity` if it never does. */
export function findFitTime({ counted }: Share, units: number): number {
  return Math.max(...counted.map((epoch) => (epoch.units < units ? epoch.endsAtMs : -Infinity)));
}

/** When this instance will have been a member in every epoch that counts, and so has its share. */
export function findMemberTime({ counted }: Share): number {
  return Math.max(...counted.map(({ weight, endsAtMs }) => (weight === 0 ? endsAtMs : -Infinity)));
}

function findSmallestShare(counted: readonly CountedEpoch[]): number {
  return Math.min(...counted.map(({ units }) => units));
}

/** How long an epoch still counts after its end and the grace time. */
function getOutlastMs(policy: SplittablePolicy, { total, lightest }: KnownEpoch): number {
  if (policy.algorithm === 'fixedWindow') return 0;
  if (policy.algorithm === 'slidingWindow') return policy.windowMs;
  const { capacity, overdraft, refill, everyMs } = policy;
  // By rounding, each bucket has up to a unit more than its part, and the one with the smallest weight takes longest to
  // pay for it.
  return Math.ceil(((capacity + overdraft + total / lightest) * everyMs) / refill) + 1;
}

/** The policy with the smallest share in each respect. A share that cannot be counted exactly becomes no share. */
function scale(policy: SplittablePolicy, counted: readonly CountedEpoch[]): Policy {
  const { weight, total } = counted.reduce((least, epoch) => (isLess(epoch, least) ? epoch : least));
  try {
    return scalePolicy(policy, { units: findSmallestShare(counted), weight, total });
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    return scalePolicy(policy, { units: 0, weight, total });
  }
}
