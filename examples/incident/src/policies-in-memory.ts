import type { PolicySource } from '@sluice/managed';

/** Policies and overrides in the memory of this process. Yours are in Redis: `createPolicies(redisStore(...))`. */
export function policiesInMemory(): PolicySource {
  let records: Readonly<Record<string, unknown>> = {};
  const write = (name: string, record: object, before: unknown): Promise<boolean> => {
    if (records[name] !== before) return Promise.resolve(false); // changed by another call since it was read
    records = { ...records, [name]: record };
    return Promise.resolve(true);
  };
  return { name: 'the memory of this process', load: () => Promise.resolve(records), put: write, remove: write };
}
