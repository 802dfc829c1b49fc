import type { CarryOver } from '../engine/store.ts';
import { parsePrefix } from '../stores/redis/connection.ts';
import { invalidOption } from '../values/check-options.ts';
import type { OptionTable } from '../values/option.ts';
import { parseApp } from './app.ts';
import { isCarryOver } from './read-record.ts';

export interface PutOptions {
  /** The applications that may use the policy, compared exactly. An empty list allows none. */
  readonly apps: readonly string[];
  /**
   * The fate of used units when the policy changes. `keep` (default): they stay used.
   * `proportional`: the same part of the new limit is used as of the old one, rounded up. `reset`: all clients start
   * again, so within one window both limits may be allowed.
   */
  readonly carryOver?: CarryOver | undefined;
  /** Returns what would change, and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

export const CREATE_POLICIES: OptionTable<{ readonly prefix: string | undefined }> = {
  prefix: (given) => (given === undefined ? undefined : parsePrefix(given)),
};

export interface PutSettings {
  readonly apps: readonly string[];
  readonly carryOver: CarryOver;
  readonly dryRun: boolean;
}

export const PUT: OptionTable<PutSettings> = {
  apps: (given) => {
    if (!Array.isArray(given)) {
      throw invalidOption('apps', 'a list of the applications that may use the policy, such as ["checkout"]', given);
    }
    // Sorted, so that the same applications are an equal list.
    return [...new Set(given.map((app, i) => parseApp(app, `apps[${String(i)}]`)))].sort();
  },
  carryOver: (given = 'keep') => {
    if (isCarryOver(given)) return given;
    throw invalidOption('carryOver', '"keep", "proportional" or "reset"', given);
  },
  dryRun: (given = false) => {
    if (typeof given === 'boolean') return given;
    throw invalidOption('dryRun', 'true or false', given);
  },
};

export const REMOVE: OptionTable<{ readonly state: boolean }> = {
  state: (given) => given === true,
};
