import {
  type PolicyBase,
  type PolicyPart,
  type Split,
  type SplitParts,
  algorithms,
  type AnyAlgorithm,
  shown,
  listed,
  countsDenied,
} from '@sluice/old-core/spi';
import { PolicyError, type NamedPolicy } from '@sluice/old-core';
import { denyAll } from './deny-all.ts';
import { isLess, type KnownEpoch, type KnownEpochs } from './known-epochs.ts';
import type { MembershipClock } from '../membership/membership-clock.ts';
import { floorShare } from './shares.ts';
import { splitWindowAlgorithm, type SplitWindowPolicy } from './split-window.ts';

/** The input of the computation of a share. */
export interface ShareInputs {
  readonly epochs: KnownEpochs;
  readonly clock: MembershipClock;
  /** How long after the end of an epoch some instance may still act by it. */
  readonly graceMs: number;
  /**
   * Whether the limit changes while it is used. Then shares are rounded down, so that those of instances that know the
   * change and of those that do not are together no more than the larger limit.
   */
  readonly isChanging: boolean;
}

/** This instance's share of a policy at one instant. */
export interface Share {
  /** The policy as this instance counts it. */
  readonly named: NamedPolicy;
  /** The units of the whole policy. */
  readonly whole: number;
  /** The same or, while there is no share, the last one that allowed anything: states are converted from it. */
  readonly lastOpen: NamedPolicy;
  /** Valid until the earlier end of the clock reaches this, */
  readonly untilEarliestMs: number;
  /** or the later end this. */
  readonly untilLatestMs: number;
  /** The share that this instance gets if no member changes, and from when. */
  readonly eventual: number;
  readonly eventualAtMs: number;
  /** Whether the share is 0 because it cannot be counted exactly. */
  readonly isUncountable: boolean;
}

/** @throws PolicyError for a policy that cannot be split into shares. */
export function checkSplittable({ name, algorithm, policy }: NamedPolicy): void {
  const { split = `what it promises does not add up over shares: use ${splittable()}` } = algorithm;
  const why = typeof split === 'string' ? split : split.whyNot?.(policy);
  if (why === undefined) return;
  throw new PolicyError('policy', `splitStore cannot split the policy ${shown(name)} (${algorithm.name}): ${why}`);
}

/** The algorithms whose policies can be split, with the options that this needs. */
function splittable(): string {
  const names = algorithms.flatMap(({ name, split }) => {
    if (typeof split !== 'object') return [];
    return [split.needs === undefined ? name : `${name} with ${split.needs}`];
  });
  return listed(names, 'or');
}

/** How a policy is split. Only for policies that pass {@link checkSplittable}. */
function splitOf({ algorithm }: NamedPolicy): Split<PolicyBase> {
  return algorithm.split as Split<PolicyBase>;
}

/** Whether the windows of a policy follow the clock, so that a share is a part of each window. */
export function hasWindowsOnTheClock(named: NamedPolicy): boolean {
  return 'windowsOnTheClock' in splitOf(named);
}

/** Whether the states of a policy depend on the share that wrote them. */
export function statesDependOnShare(named: NamedPolicy): boolean {
  const split = splitOf(named);
  return 'part' in split && split.statesDependOnPart === true;
}

/** How long an epoch still counts after its end and the grace time. 0 for windows on the clock. */
function spanMs(named: NamedPolicy, epoch: KnownEpoch): number {
  const split = splitOf(named);
  return 'part' in split ? split.outlastsMs(named.policy, epoch) : 0;
}

/**
 * Calls `visit` with every epoch that still counts after `sinceMs`, the latest first, and with the instant it expires
 * at. For a bucket that is when the buckets of all members, of that epoch and of later ones, are full again.
 */
function eachEpoch(
  named: NamedPolicy,
  { epochs, graceMs }: ShareInputs,
  sinceMs: number,
  visit: (epoch: KnownEpoch, expiresAtMs: number) => void,
): void {
  let longestMs = 0;
  for (let i = epochs.list.length - 1; i >= 0; i--) {
    const epoch = epochs.list[i] as KnownEpoch;
    longestMs = Math.max(longestMs, spanMs(named, epoch));
    const expiresAtMs = epoch.untilMs + graceMs + longestMs;
    if (expiresAtMs > sinceMs) visit(epoch, expiresAtMs);
  }
}

/** How long until this instance has been a member in every epoch that counts, and so has its share. 0 if it has. */
export function untilMemberMs(named: NamedPolicy, inputs: ShareInputs): number {
  const nowMs = inputs.clock.earliestMs;
  let atMs = nowMs;
  eachEpoch(named, inputs, startedMs(named, nowMs), ({ weight }, expiresAtMs) => {
    if (weight === 0) atMs = Math.max(atMs, grownMs(named, expiresAtMs));
  });
  return atMs - nowMs;
}

/** The instant that determines the current share: for windows on the clock, the start of the window. */
function startedMs(named: NamedPolicy, nowMs: number): number {
  return hasWindowsOnTheClock(named) ? Math.floor(nowMs / named.windowMs) * named.windowMs : nowMs;
}

/** When a share that may grow at `atMs` does: for windows on the clock, at the start of the next window. */
function grownMs(named: NamedPolicy, atMs: number): number {
  return hasWindowsOnTheClock(named) ? Math.ceil(atMs / named.windowMs) * named.windowMs : atMs;
}

/** This instance's share of a policy now. */
export function shareOf(named: NamedPolicy, inputs: ShareInputs, before?: Share): Share {
  const split = splitOf(named);
  return 'part' in split ? smallerShare(named, split, inputs, before) : windowShare(named, inputs);
}

function windowShare(named: NamedPolicy, inputs: ShareInputs): Share {
  const { epochs, clock } = inputs;
  const { windowMs } = named;
  const limit = unitsOf(named);
  const startMs = startedMs(named, clock.earliestMs);
  const endMs = startMs + windowMs;
  const latest = epochs.latest;
  const eventual = unitsIn(latest, limit, inputs);
  let [here, next, eventualAtMs] = [eventual, eventual, -Infinity];
  eachEpoch(named, inputs, startMs, (epoch, expiresAtMs) => {
    const share = unitsIn(epoch, limit, inputs);
    here = Math.min(here, share);
    if (expiresAtMs > endMs) next = Math.min(next, share);
    if (share < eventual) eventualAtMs = Math.max(eventualAtMs, grownMs(named, expiresAtMs));
  });
  const policy: SplitWindowPolicy = {
    algorithm: 'splitWindow',
    limit: here,
    nextLimit: next,
    windowMs,
    endMs,
    mayHaveEnded: clock.latestMs >= endMs,
    aheadMs: clock.aheadMs,
    countDenied: countsDenied(named),
  };
  const own = counted(named, splitWindowAlgorithm as unknown as AnyAlgorithm, policy);
  return {
    named: own,
    lastOpen: own,
    whole: limit,
    untilEarliestMs: endMs,
    untilLatestMs: policy.mayHaveEnded ? Infinity : endMs,
    eventual,
    eventualAtMs,
    isUncountable: false,
  };
}

function smallerShare(
  named: NamedPolicy,
  split: SplitParts<PolicyBase>,
  inputs: ShareInputs,
  before: Share | undefined,
): Share {
  const { epochs } = inputs;
  let part = partOf(named, epochs.latest, inputs);
  const { units } = part;
  const eventual = split.part(named.policy, part) === undefined ? 0 : units;
  const times = whileCounting(named, inputs, (epoch) => {
    part = smallerPart(part, partOf(named, epoch, inputs));
  });
  const isUncountable = units > 0 && eventual === 0;
  return shareOrDenyAll(named, split.part(named.policy, part), before, { eventual, isUncountable, ...times });
}

/** This instance's part in one epoch. */
function partOf(named: NamedPolicy, epoch: KnownEpoch, inputs: ShareInputs): PolicyPart {
  return { units: unitsIn(epoch, unitsOf(named), inputs), weight: epoch.weight, total: epoch.total };
}

/** This instance's share of `units` in one epoch. */
function unitsIn(epoch: KnownEpoch, units: number, { epochs, isChanging }: ShareInputs): number {
  return isChanging ? floorShare(units, epoch.weight, epoch.total) : epochs.shareOf(units, epoch);
}

/** The smaller of two parts in each respect. */
function smallerPart(one: PolicyPart, other: PolicyPart): PolicyPart {
  const { weight, total } = isLess(other, one) ? other : one;
  return { units: Math.min(one.units, other.units), weight, total };
}

/** The units of a whole policy. */
function unitsOf({ algorithm, policy }: NamedPolicy): number {
  const [units = 0] = algorithm.numbers(policy);
  return units;
}

interface Times {
  readonly untilEarliestMs: number;
  readonly eventualAtMs: number;
}

/**
 * Calls `visit` with every epoch that counts now.
 *
 * @returns Until when exactly these epochs count, and when the last of them but the current one expires.
 */
function whileCounting(named: NamedPolicy, inputs: ShareInputs, visit: (epoch: KnownEpoch) => void): Times {
  let [untilEarliestMs, eventualAtMs] = [Infinity, -Infinity];
  eachEpoch(named, inputs, inputs.clock.earliestMs, (epoch, expiresAtMs) => {
    visit(epoch);
    if (epoch.untilMs === Infinity) return;
    untilEarliestMs = Math.min(untilEarliestMs, expiresAtMs);
    eventualAtMs = Math.max(eventualAtMs, expiresAtMs);
  });
  return { untilEarliestMs, eventualAtMs };
}

/** The share under this policy. Without a share, the last one, which denies all and keeps its states. */
function shareOrDenyAll(
  whole: NamedPolicy,
  policy: PolicyBase | undefined,
  before: Share | undefined,
  rest: Times & { readonly eventual: number; readonly isUncountable: boolean },
): Share {
  const { algorithm } = whole;
  const lastOpen = policy === undefined ? (before?.lastOpen ?? whole) : counted(whole, algorithm, policy);
  const named = policy === undefined ? counted(whole, denyAll(algorithm), lastOpen.policy) : lastOpen;
  return { named, lastOpen, whole: unitsOf(whole), untilLatestMs: Infinity, ...rest };
}

/** The policy with the window of the whole, which is what clients see. */
function counted({ name, windowMs }: NamedPolicy, algorithm: AnyAlgorithm, policy: PolicyBase): NamedPolicy {
  return { name, algorithm, policy, windowMs };
}
