import { createPolicies, type Policies, type PolicySource } from '@sluice/old-managed';

/** A place for policies, in memory, of which every process hears as late as a test likes. */
export interface Registry {
  /** For puts: always the current records. */
  readonly policies: Policies;
  view(): View;
}

/** What one process knows. */
export interface View {
  readonly policies: Policies;
  /** Hears what is there now. */
  hear(): Promise<void>;
  /** Whether a load of its own returns the change: after a stale reply, or by a poll. */
  isDeaf: boolean;
}

export function registry(): Registry {
  let records: Readonly<Record<string, unknown>> = {};
  const source: PolicySource = {
    load: () => Promise.resolve(records),
    put: (name, record, before) => {
      if (records[name] !== before) return Promise.resolve(false);
      records = { ...records, [name]: record };
      return Promise.resolve(true);
    },
  };
  return {
    policies: createPolicies(source),
    view: () => {
      let known = records;
      const view = { isDeaf: true };
      const policies = createPolicies({
        load: () => {
          if (!view.isDeaf) known = records;
          return Promise.resolve(known);
        },
      });
      return Object.assign(view, {
        policies,
        hear: async () => {
          known = records;
          await policies.list();
        },
      });
    },
  };
}
