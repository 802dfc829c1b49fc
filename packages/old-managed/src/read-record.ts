import type { CarryOver, EarlierVersion, NamedPolicy, Policy } from '@sluice/old-core';
import { algorithms, messageOf, namePolicy, type PolicyBase } from '@sluice/old-core/spi';
import type { PolicyRecord } from './policy-source.ts';

/** A policy of a source, read and checked. */
export type PolicyDefinition =
  | { readonly state: 'usable'; readonly version: number; readonly named: NamedPolicy; readonly record: PolicyRecord }
  | { readonly state: 'removed'; readonly version: number; readonly record: PolicyRecord }
  /** Written by a newer release, or invalid: it cannot be used. */
  | { readonly state: 'newer' | 'broken'; readonly version: number; readonly why: string };

export const FORMAT = 1;
const CARRY_OVERS: readonly unknown[] = ['keep', 'reset'];

export function isCarryOver(value: unknown): value is CarryOver {
  return CARRY_OVERS.includes(value);
}

/** A higher version is invalid, because no version could follow it. */
const LATEST_VERSION = Number.MAX_SAFE_INTEGER - 1;

/** Reads a record, which may have any form. */
export function readRecord(name: string, given: unknown): PolicyDefinition {
  const record: Partial<PolicyRecord> = isObject(given) ? given : {};
  const version = isVersion(record.version) ? record.version : 0;
  if (typeof record.format === 'number' && record.format > FORMAT) {
    return {
      state: 'newer',
      version,
      why: `its record has format ${String(record.format)}, and this release reads format ${String(FORMAT)}`,
    };
  }
  if (!isRecord(record)) return { state: 'broken', version, why: 'it is no record of a policy' };
  if (record.policy === undefined) return { state: 'removed', version, record };
  try {
    return { state: 'usable', version, named: namePolicy(record.policy, name), record };
  } catch (error) {
    const { algorithm } = record.policy as Partial<PolicyBase>;
    const isKnown = typeof algorithm !== 'string' || algorithms.some((known) => known.name === algorithm);
    const why = messageOf(error);
    // An unknown algorithm is one of a newer release.
    return { state: isKnown ? 'broken' : 'newer', version, why };
  }
}

function isVersion(version: unknown): version is number {
  return Number.isSafeInteger(version) && Number(version) > 0 && Number(version) < LATEST_VERSION;
}

function isRecord(record: Partial<PolicyRecord>): record is PolicyRecord {
  const { format, version, policy, apps, carryOver, earlier } = record;
  return (
    format === FORMAT &&
    isVersion(version) &&
    isCarryOver(carryOver) &&
    (policy === undefined || isObject(policy)) &&
    Array.isArray(apps) &&
    apps.every((app) => typeof app === 'string') &&
    Array.isArray(earlier) &&
    earlier.every((before) => isEarlier(before, version))
  );
}

function isEarlier(given: unknown, than: number): boolean {
  if (!isObject(given)) return false;
  const { version, policy, carryOver } = given as Partial<PolicyRecord>;
  return isVersion(version) && version < than && isCarryOver(carryOver) && (policy === undefined || isObject(policy));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * How the states of an earlier version are converted. After several changes, one that resets makes the result a reset;
 * otherwise the newest change determines how.
 */
export function earlierVersion(
  name: string,
  { carryOver, earlier }: PolicyRecord,
  version: number,
): EarlierVersion | 'unknown' {
  const policy = earlier.find((before) => before.version === version)?.policy;
  const isReset = isResetSince({ carryOver, earlier }, version);
  if (policy === undefined && !isReset) return 'unknown';
  try {
    // A state that is reset is not read, so no policy is needed.
    const policies = policy === undefined ? [] : [namePolicy(policy, name)];
    return { policies, carryOver: isReset ? 'reset' : carryOver };
  } catch {
    return 'unknown'; // an algorithm that this release does not know
  }
}

/** Whether any change after a version reset all states. */
function isResetSince({ carryOver, earlier }: Pick<PolicyRecord, 'carryOver' | 'earlier'>, version: number): boolean {
  return carryOver === 'reset' || earlier.some((before) => before.version > version && before.carryOver === 'reset');
}

/** Whether a change after one version, up to another, reset all states. */
export function isResetBetween({ version, carryOver, earlier }: PolicyRecord, after: number, upTo: number): boolean {
  return [{ version, carryOver }, ...earlier].some(
    (change) => change.carryOver === 'reset' && change.version > after && change.version <= upTo,
  );
}

/** A policy without its name, which is that of its record. */
export function unnamed(policy: PolicyBase): Policy {
  return Object.fromEntries(Object.entries(policy).filter(([field]) => field !== 'name')) as unknown as Policy;
}

/** Whether two policies are the same rule, whatever their names. */
export function samePolicy(one: NamedPolicy, other: NamedPolicy): boolean {
  return one.algorithm === other.algorithm && numbersOf(one) === numbersOf(other);
}

function numbersOf({ algorithm, policy, windowMs }: NamedPolicy): string {
  return JSON.stringify([...algorithm.numbers(policy), windowMs]);
}
