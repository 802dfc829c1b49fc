import { LONGEST_TIMER_MS } from '../platform/clock.ts';
import { checkOptions, invalidOption } from './check-options.ts';
import { parseDuration } from './duration.ts';

/** Checks the value of an option, given under this name, and returns it as it is kept, or the default. */
export type Option<Kept> = (given: unknown, name: string) => Kept;

/**
 * All options of an object, with their checks and defaults. In this order: the first bad one is reported, and `before`
 * has the ones above.
 */
export type OptionTable<Settings> = {
  readonly [Name in keyof Settings]: (given: unknown, name: string, before: Settings) => Settings[Name];
};

/** The checked options: each as it is given, or its default; those of `Otherwise` in another form, or undefined. */
export type SettingsOf<Options, Otherwise = unknown> = {
  readonly [Name in keyof Options]-?: Name extends keyof Otherwise
    ? Otherwise[Name]
    : Exclude<Options[Name], undefined>;
};

/**
 * Reads the options of a table, and takes no others.
 *
 * @throws PolicyError as {@link checkOptions} does, and as the functions of the table do.
 */
export function readOptions<Settings extends object>(
  options: unknown,
  table: OptionTable<Settings>,
  where: string,
): Settings {
  checkOptions(options, Object.keys(table), where);
  return readValues(options as object, table);
}

/** As {@link readOptions}, of an option that has options itself: errors name them with it, such as `denialCache.maxAge`. */
export function readInner<Settings extends object>(
  options: unknown,
  table: OptionTable<Settings>,
  name: string,
): Settings {
  checkOptions(options, Object.keys(table), name);
  return readValues(options as object, table, `${name}.`);
}

/**
 * Reads the options of a table, whatever else there is beside them.
 *
 * @param where - What errors write before their names.
 */
export function readValues<Settings extends object>(
  options: object,
  table: OptionTable<Settings>,
  where = '',
): Settings {
  const settings = {} as Settings;
  for (const name of Object.keys(table) as (keyof Settings & string)[])
    settings[name] = table[name]((options as Readonly<Record<string, unknown>>)[name], where + name, settings);
  return settings;
}

/** An option whose values pass a check, and are kept as they are. Without a default it is required. */
export function valueThat<Kept>(is: (given: unknown) => boolean, expected: string, byDefault?: Kept): Option<Kept> {
  return (given = byDefault, name) => {
    if (is(given)) return given as Kept;
    throw invalidOption(name, expected, given);
  };
}

/** An option that is true or false. */
export function flag(byDefault: boolean): Option<boolean> {
  return valueThat((given) => typeof given === 'boolean', 'true or false', byDefault);
}

/** An option that is one of some words, by default the first. */
export function oneOf<const Word extends string>(words: readonly Word[]): Option<Word> {
  const quoted = words.map((word) => `"${word}"`);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${String(quoted.at(-1))}`;
  return valueThat((given) => words.includes(given as Word), expected, words[0]);
}

/** An option that is a whole number within bounds, both included, which the text names. */
export function wholeNumber(least: number, most: number, expected: string, byDefault?: number): Option<number> {
  return valueThat(
    (given) => Number.isSafeInteger(given) && Number(given) >= least && Number(given) <= most,
    expected,
    byDefault,
  );
}

/** An option in milliseconds that a timer can wait. */
export function timerMs(byDefault?: number): Option<number> {
  const expected = `a whole number of milliseconds, from 1 to ${String(LONGEST_TIMER_MS)}`;
  return wholeNumber(1, LONGEST_TIMER_MS, expected, byDefault);
}

/** An option that is a duration, kept in milliseconds. */
export function duration(byDefault?: number): Option<number> {
  return (given = byDefault, name) => parseDuration(given, name, 'SLUICE_OPTION_INVALID');
}

/** An option that stays undefined where it is not given. */
export function optional<Kept>(read: Option<Kept>): Option<Kept | undefined> {
  return (given, name) => (given === undefined ? undefined : read(given, name));
}
