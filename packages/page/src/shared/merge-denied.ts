import type { PageRecord, SharedKey } from './page-record.ts';

/** Of each process the record that has counted most: several pages in one process count the same decisions. */
export function onePerProcess(records: readonly PageRecord[]): readonly PageRecord[] {
  const kept = new Map<string, { readonly record: PageRecord; readonly sum: number }>();
  for (const record of records) {
    const { host, pid } = record.process;
    const name = JSON.stringify([host, pid]);
    const sum = record.keys.reduce((counts, { count }) => counts + count, 0);
    const before = kept.get(name);
    if (before === undefined || sum > before.sum) kept.set(name, { record, sum });
  }
  return [...kept.values()].map(({ record }) => record);
}

/**
 * The keys that several processes have denied most, the most first. Counts and their bounds add up; a process that does
 * not list a key can have denied it as often as any that it does not list. Each id is that of one of the processes.
 */
export function mergeDenied(all: readonly PageRecord[]): readonly SharedKey[] {
  const records = onePerProcess(all);
  const beyondAll = records.reduce((sum, { beyond }) => sum + beyond, 0);
  const merged = new Map<string, SharedKey>();
  for (const { keys, beyond } of records) {
    const listed = new Set<string>(); // a key can be there twice: under limits of two kinds
    for (const key of keys) {
      const name = JSON.stringify([key.limiter, key.policy, key.subject ?? key.key]);
      const before = merged.get(name) ?? { ...key, count: 0, atLeast: 0, atMost: beyondAll };
      merged.set(name, {
        ...before,
        count: before.count + key.count,
        atLeast: before.atLeast + key.atLeast,
        atMost: before.atMost - (listed.has(name) ? 0 : beyond) + key.atMost,
      });
      listed.add(name);
    }
  }
  return [...merged.values()].toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}
