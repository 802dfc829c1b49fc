import type { Policy } from '../policy.ts';
import type { CarryOver } from '../stores/store.ts';
import { FORMAT, type Definition } from './definition.ts';
import type { EarlierPolicy, PolicyRecord } from './policy-source.ts';

/** So many earlier versions are kept, for keys that nobody has touched since. */
const MOST_EARLIER = 16;

/** The record of a policy that is put. */
export function recordOf(
  policy: Policy,
  {
    apps,
    carryOver,
    isSame,
  }: { readonly apps: readonly string[]; readonly carryOver: CarryOver; readonly isSame: boolean },
  before: Definition | undefined,
): PolicyRecord {
  // The states stay what they are: it is the same version still.
  if (isSame && before?.state === 'usable') return { ...before.record, apps, changedAtMs: Date.now() };
  return { ...nextVersion(before), format: FORMAT, policy, apps, carryOver, earlier: earlierOf(before) };
}

/** Later than all before, and than any that was lost with its source: an instant, where that is later. */
function nextVersion(before: Definition | undefined): { readonly version: number; readonly changedAtMs: number } {
  const changedAtMs = Date.now();
  return { version: Math.max((before?.version ?? 0) + 1, changedAtMs), changedAtMs };
}

function earlierOf(before: Definition | undefined): readonly EarlierPolicy[] {
  if (before === undefined || !('record' in before)) return [];
  const { version, policy, carryOver, earlier } = before.record;
  return [{ version, ...(policy === undefined ? {} : { policy }), carryOver }, ...earlier].slice(0, MOST_EARLIER);
}

/** What stays of a policy that is removed. */
export function tombstoneOf(before: Definition, carryOver: CarryOver): PolicyRecord {
  return { ...nextVersion(before), format: FORMAT, apps: [], carryOver, earlier: earlierOf(before) };
}
