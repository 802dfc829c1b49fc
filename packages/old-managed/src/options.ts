import type { CarryOver } from '@sluice/old-core';
import { flag, invalidOption, LONGEST_APP, type OptionTable, type SettingsOf } from '@sluice/old-core/spi';
import { isCarryOver } from './read-record.ts';

export interface PutOptions {
  /**
   * The applications that may use the policy, compared exactly. An empty list allows none. A function gets those that
   * may use it now, none for a policy that does not exist, and returns those that may afterwards: two processes that add
   * one at the same time both do. It is called again after each concurrent change.
   */
  readonly apps: readonly string[] | ((before: readonly string[]) => readonly string[]);
  /**
   * What happens to the units that clients have used when the policy changes. `keep`: they stay used. `reset`:
   * all clients start again, so within one window both limits may be allowed. Default `keep`.
   */
  readonly carryOver?: CarryOver | undefined;
  /** Returns what would change, and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** The options of `createPolicies`. */
export interface CreatePoliciesOptions {
  /** With a client or URL, and only there: the prefix of the stores whose limiters use the policies. */
  readonly prefix?: string | undefined;
}

export const CREATE_POLICIES: OptionTable<CreatePoliciesOptions> = {
  prefix: (given) => given as string | undefined, // checked with the client that needs it
};

export type PutSettings = SettingsOf<
  PutOptions,
  {
    /** Sorted, so that the same applications are an equal list. */
    readonly apps: (before: readonly string[]) => readonly string[];
  }
>;

export const PUT: OptionTable<PutSettings> = {
  apps: (given) => {
    if (typeof given === 'function')
      return (before) => parseApps((given as (apps: readonly string[]) => unknown)(before));
    const apps = parseApps(given);
    return () => apps;
  },
  carryOver: (given = 'keep') => {
    if (isCarryOver(given)) return given;
    throw invalidOption('carryOver', '"keep" or "reset"', given);
  },
  dryRun: flag(false),
};

export const REMOVE: OptionTable<{ readonly state: boolean }> = {
  state: (given) => given === true,
};

function parseApps(given: unknown): readonly string[] {
  if (!Array.isArray(given)) {
    throw invalidOption('apps', 'a list of the applications that may use the policy, such as ["checkout"]', given);
  }
  return [...new Set(given.map((app, i) => checkApp(app, `apps[${String(i)}]`)))].sort();
}

function checkApp(app: unknown, field: string): string {
  if (typeof app === 'string' && app !== '' && app.length <= LONGEST_APP) return app;
  throw invalidOption(field, `the name of an application, 1 to ${String(LONGEST_APP)} characters`, app);
}
