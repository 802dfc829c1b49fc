import type { PolicySource } from '@sluice/old-managed';

/** A source of managed policies that several applications open: it notifies all of them of a change. */
export function memorySource(): PolicySource {
  const records = new Map<string, unknown>();
  const listeners = new Set<() => void>();
  const put: PolicySource['put'] = async (name, record, before) => {
    const isFirst = records.get(name) === before;
    if (isFirst) records.set(name, record);
    for (const changed of listeners) changed();
    return Promise.resolve(isFirst);
  };
  return {
    load: async () => Promise.resolve(Object.fromEntries(records)),
    watch: (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
    put,
    remove: put,
  };
}
