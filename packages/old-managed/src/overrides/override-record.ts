import type { NamedPolicy, Policy } from '@sluice/old-core';
import { namePolicy } from '@sluice/old-core/spi';

/** What an earlier version of an override said, for keys that still hold its states. */
export interface EarlierOverride {
  readonly version: number;
  /** Absent: it was removed then. */
  readonly policy?: Policy;
  readonly untilMs?: number;
}

/** An override as a source keeps it, in JSON. */
export interface OverrideRecord extends EarlierOverride {
  /** The layout of this record: 1. One with a higher number is not used. */
  readonly format: number;
  /** Who changed it last, and why: for display only. */
  readonly by?: string;
  readonly reason?: string;
  /** Milliseconds since 1970, by the clock of the process that changed it. For display only. */
  readonly changedAtMs: number;
  /** Newest first. */
  readonly earlier: readonly EarlierOverride[];
}

/** An override in memory. Many targets with the same numbers share one. */
export interface Override {
  readonly version: number;
  /** Undefined: it was removed. */
  readonly named: NamedPolicy | undefined;
  /** The instant of the source's clock at which it ends. Infinity: it does not. */
  readonly untilMs: number;
  readonly earlier: readonly EarlierOverride[];
}

const FORMAT = 1;
const MOST_EARLIER = 4;

/** The version of a subject from the end of an override on: later than its own, and than what was put before its end. */
export function endVersionOf({ version, untilMs = Infinity }: EarlierOverride | Override): number {
  return untilMs === Infinity ? version : Math.max(version + 1, untilMs);
}

/**
 * Reads a record, which may have any form.
 *
 * @throws Error that says why it cannot be used.
 */
export function readOverride(policyName: string, given: unknown): Override {
  const record = (typeof given === 'object' && given !== null ? given : {}) as Partial<OverrideRecord>;
  const { format, version, policy, untilMs, earlier } = record;
  if (Number(format) > FORMAT) throw new Error(`its record has format ${String(format)}: a newer release wrote it`);
  if (format !== FORMAT || !isVersion(version) || !isUntil(untilMs) || !isHistory(earlier, version)) {
    throw new Error('it is no record of an override');
  }
  const named = policy === undefined ? undefined : namePolicy(policy, policyName);
  return { version, named, untilMs: untilMs ?? Infinity, earlier };
}

function isVersion(version: unknown): version is number {
  return Number.isSafeInteger(version) && Number(version) > 0;
}

function isUntil(untilMs: unknown): untilMs is number | undefined {
  return untilMs === undefined || isVersion(untilMs);
}

function isHistory(earlier: unknown, than: number): earlier is readonly EarlierOverride[] {
  return Array.isArray(earlier) && earlier.every((one: Partial<EarlierOverride>) => isEarlier(one, than));
}

function isEarlier(one: Partial<EarlierOverride>, than: number): boolean {
  return isVersion(one.version) && one.version < than && isUntil(one.untilMs);
}

/** An override as it was, for states that it wrote. */
export function saidBy({ version, named, untilMs }: Override): EarlierOverride {
  return {
    version,
    ...(named === undefined ? {} : { policy: named.policy as Policy }),
    ...(untilMs === Infinity ? {} : { untilMs }),
  };
}

/** What is kept of who changed an override, and why. */
export interface Audit {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * The record that replaces another.
 *
 * @param said - Without a policy: the override is removed.
 */
export function makeOverrideRecord(
  said: EarlierOverride,
  { by, reason }: Audit,
  before: OverrideRecord | undefined,
): OverrideRecord {
  return {
    format: FORMAT,
    ...said,
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
    changedAtMs: Date.now(),
    earlier: before === undefined ? [] : [earlierOf(before), ...before.earlier].slice(0, MOST_EARLIER),
  };
}

function earlierOf({ version, policy, untilMs }: OverrideRecord): EarlierOverride {
  return {
    version,
    ...(policy === undefined ? {} : { policy }),
    ...(untilMs === undefined ? {} : { untilMs }),
  };
}
