import type { CarryOver, Policy } from '@sluice/old-core';
import { FORMAT, type PolicyDefinition } from './read-record.ts';
import type { EarlierPolicy, PolicyRecord } from './policy-source.ts';

/** How many earlier versions are kept, for keys that have not been used since. */
const MOST_EARLIER = 16;

/** The record that `put` writes. */
export function makeRecord(
  policy: Policy,
  {
    apps,
    carryOver,
    isSame,
    after,
  }: {
    readonly apps: readonly string[];
    readonly carryOver: CarryOver;
    readonly isSame: boolean;
    /** A version that the new one follows, as it does those of the policy. */
    readonly after: number;
  },
  before: PolicyDefinition | undefined,
): PolicyRecord {
  // The states stay valid, so the version stays the same.
  if (isSame && before?.state === 'usable') return { ...before.record, apps, changedAtMs: Date.now() };
  return { ...nextVersion(before, after), format: FORMAT, policy, apps, carryOver, earlier: earlierOf(before) };
}

/** The current time, or more: higher than all versions before, and than any that was lost with its source. */
function nextVersion(
  before: PolicyDefinition | undefined,
  after = 0,
): { readonly version: number; readonly changedAtMs: number } {
  const changedAtMs = Date.now();
  return { version: Math.max((before?.version ?? 0) + 1, after + 1, changedAtMs), changedAtMs };
}

function earlierOf(before: PolicyDefinition | undefined): readonly EarlierPolicy[] {
  if (before === undefined || !('record' in before)) return [];
  const { version, policy, carryOver, earlier } = before.record;
  return [{ version, ...(policy === undefined ? {} : { policy }), carryOver }, ...earlier].slice(0, MOST_EARLIER);
}

/** The record that stays after a policy is removed. */
export function makeTombstone(before: PolicyDefinition, carryOver: CarryOver): PolicyRecord {
  return { ...nextVersion(before), format: FORMAT, apps: [], carryOver, earlier: earlierOf(before) };
}
