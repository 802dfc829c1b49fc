import { namePolicy, type NamedPolicy } from '../policy.ts';
import type { CarryOver, EarlierEdition } from '../stores/store.ts';
import type { PolicyRecord } from './policy-source.ts';

/** What a source says of a policy, ready for use. */
export type Definition =
  | { readonly state: 'usable'; readonly version: number; readonly named: NamedPolicy; readonly record: PolicyRecord }
  | { readonly state: 'removed'; readonly version: number; readonly record: PolicyRecord }
  /** Written by a release that knows more, or by nobody: it cannot be followed. */
  | { readonly state: 'newer' | 'broken'; readonly version: number; readonly why: string };

export const FORMAT = 1;
const CARRY_OVERS: readonly unknown[] = ['keep', 'proportional', 'reset'];

export function isCarryOver(value: unknown): value is CarryOver {
  return CARRY_OVERS.includes(value);
}

/** Reads a record, whoever wrote it. */
export function definitionOf(name: string, given: unknown): Definition {
  const record = (given ?? {}) as Partial<PolicyRecord>;
  const version = Number.isSafeInteger(record.version) ? (record.version as number) : 0;
  if (typeof record.format === 'number' && record.format > FORMAT) {
    return {
      state: 'newer',
      version,
      why: `its record has format ${String(record.format)}, and this release knows ${String(FORMAT)}`,
    };
  }
  const isRecord =
    record.format === FORMAT &&
    version > 0 &&
    Array.isArray(record.apps) &&
    Array.isArray(record.earlier) &&
    isCarryOver(record.carryOver);
  if (!isRecord) return { state: 'broken', version, why: 'it is no record of a policy' };
  const whole = record as PolicyRecord;
  if (whole.policy === undefined) return { state: 'removed', version, record: whole };
  try {
    return { state: 'usable', version, named: namePolicy(whole.policy, name), record: whole };
  } catch (error) {
    // An algorithm that is not known here, above all: a newer release knows it.
    return { state: 'newer', version, why: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * What the states of an earlier version are converted by. Where several changes lie between, one that resets makes all of
 * them reset; else the newest one says how.
 */
export function earlierEdition(
  name: string,
  { carryOver, earlier }: PolicyRecord,
  version: number,
): EarlierEdition | 'unknown' {
  const policy = earlier.find((before) => before.version === version)?.policy;
  const isReset =
    carryOver === 'reset' || earlier.some((before) => before.version > version && before.carryOver === 'reset');
  if (policy === undefined && !isReset) return 'unknown';
  try {
    // Nothing is read of what is reset, so that any policy will do.
    const policies = policy === undefined ? [] : [namePolicy(policy, name)];
    return { policies, carryOver: isReset ? 'reset' : carryOver };
  } catch {
    return 'unknown'; // of a kind that this release does not know
  }
}

/** Whether two policies are the same rule, whatever they are called. */
export function samePolicy(one: NamedPolicy, other: NamedPolicy): boolean {
  return one.algorithm === other.algorithm && numbersOf(one) === numbersOf(other);
}

function numbersOf({ algorithm, policy, windowMs }: NamedPolicy): string {
  return JSON.stringify([...algorithm.numbers(policy), windowMs]);
}
