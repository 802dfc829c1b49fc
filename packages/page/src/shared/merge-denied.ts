import type { PageRecord, SharedKey } from './page-record.ts';

/**
 * The keys that several processes have denied most, the most first. Counts and their bounds add up; a process that does
 * not list a key can have denied it as often as any that it does not list. Each id is that of one of the processes.
 */
export function mergeDenied(records: readonly PageRecord[]): readonly SharedKey[] {
  const beyondAll = records.reduce((sum, { beyond }) => sum + beyond, 0);
  const merged = new Map<string, SharedKey>();
  for (const { keys, beyond } of records) {
    for (const key of keys) {
      const name = JSON.stringify([key.limiter, key.policy, key.subject ?? key.key]);
      const before = merged.get(name) ?? { ...key, count: 0, atLeast: 0, atMost: beyondAll };
      merged.set(name, {
        ...before,
        count: before.count + key.count,
        atLeast: before.atLeast + key.atLeast,
        atMost: before.atMost - beyond + key.atMost,
      });
    }
  }
  return [...merged.values()].toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}
