import { MAX_APP } from '../limiter/options.ts';
import { MAX_INSTANT } from './record.ts';
import {
  flag,
  invalid,
  optional,
  valueThat,
  withDefault,
  type Optional,
  type Options,
  type Reader,
  type WithDefault,
} from '../values/shape.ts';

function text(max: number): Reader<string> {
  const isText = (given: unknown): boolean => typeof given === 'string' && given !== '' && given.length <= max;
  return valueThat(isText, `a string of 1 to ${String(max)} characters`);
}

export const CHANGE = {
  /** Who makes the change, 1 to 256 characters. Stored with it. */
  by: optional(text(256)) as Optional<string>,
  /** Why, 1 to 1000 characters. Stored with it. */
  reason: optional(text(1000)) as Optional<string>,
};

export interface ChangeOptions extends Options<typeof CHANGE> {}

type ChangeApps = (before: readonly string[]) => readonly string[];

const PUT = {
  /**
   * The applications that may use the policy, compared exactly; an empty list allows none. A function gets the current
   * list and returns the new one; it is called again after each concurrent change. Default: unchanged, or all
   * applications for a new policy.
   */
  apps: optional(readApps) as Optional<readonly string[] | ChangeApps, ChangeApps>,
  /**
   * Whether to clear all counts and blocks: a client may then use both the old and the new limit within one window.
   * Default false: used units stay used.
   */
  reset: withDefault(flag, false) as WithDefault<boolean>,
};

export const PUT_OPTIONS: typeof PUT & typeof CHANGE = { ...PUT, ...CHANGE };

export interface PutOptions extends Options<typeof PUT>, ChangeOptions {}

const OVERRIDE = {
  /** When it ends, by the clock of the source: a date, or milliseconds since 1970. Default: it does not. */
  until: optional(readInstant) as Optional<Date | number, number>,
};

export const OVERRIDE_OPTIONS: typeof OVERRIDE & typeof CHANGE = { ...OVERRIDE, ...CHANGE };

export interface OverrideOptions extends Options<typeof OVERRIDE>, ChangeOptions {}

function readApps(given: unknown, field: string): ChangeApps {
  if (typeof given === 'function')
    return (before) => checkApps((given as (apps: readonly string[]) => unknown)(before), field);
  const apps = checkApps(given, field);
  return () => apps;
}

/** Sorted, so that the same applications always make an equal list. */
function checkApps(given: unknown, field: string): readonly string[] {
  const isApp = (app: unknown): boolean => typeof app === 'string' && app !== '' && app.length <= MAX_APP;
  if (Array.isArray(given) && given.every(isApp)) return [...new Set(given as string[])].sort();
  const expected = `a list of applications, names of 1 to ${String(MAX_APP)} characters, such as ["checkout"]`;
  throw invalid(field, expected, given);
}

function readInstant(given: unknown, field: string): number {
  const atMs = given instanceof Date ? given.getTime() : given;
  if (Number.isSafeInteger(atMs) && Number(atMs) > 0 && Number(atMs) <= MAX_INSTANT) return Number(atMs);
  throw invalid(field, 'a date, or milliseconds since 1970', given);
}
