// One shape for each options object: a row for each option, with its check, its default and its docstring. The types of
// what users write and of what the program reads, the errors, and docs/reference/options.md all follow from it:
//
//     const BELL = {
// /** How loud it rings: a whole number from 1 to 11. */
// volume: wholeNumber(1, 11) as Field<number>,
// /** How long it rings. Default `2s`. */
// length: withDefault(duration(), 2_000) as WithDefault<Duration, number>,
// /** Who rings. */
// by: optional(parseName) as Optional<string>,
// };
// export interface BellOptions extends Options<typeof BELL> {}
//
//     export function ring(options: BellOptions): void {
// const { volume, length, by } = readOptions(options, BELL, 'ring'); // 5, 2000, undefined
//
// A row is a function of the given value and its name. Declarations are made from its type, which `as` names; a row of
// another type does not compile. The docstring ends with the default.
import { PolicyError, shown, type SluiceErrorCode } from '../errors.ts';
import { MAX_TIMER_MS } from '../platform.ts';
import { parseDuration, type Duration } from './duration.ts';
import { listed, suggest } from './hint.ts';

/**
 * Checks the value given for an option of this name, and returns the value to keep. `code` is the code of its errors.
 */
export type Reader<Kept> = (given: unknown, field: string, code: SluiceErrorCode) => Kept;

/** An option that must be given. `Given` is what users write, `Kept` what {@link readOptions} returns. */
export interface Field<Given, Kept = Given> extends Reader<Kept> {
  /** Only for the type. */
  readonly given?: Given;
}

/** An option that may be left out, and is then undefined. */
export interface Optional<Given, Kept = Given> extends Field<Given, Kept | undefined> {
  readonly mayBeLeftOut: true;
}

/** An option that may be left out, and then has a default. */
export interface WithDefault<Given, Kept = Given> extends Field<Given, Kept> {
  readonly mayBeLeftOut: true;
}

/** The rows of an options object. In this order: the first bad value is reported. */
export type Shape = Readonly<Record<string, Reader<unknown>>>;

/** What users write. */
export type Options<S> = {
  [Name in keyof S as S[Name] extends { mayBeLeftOut: true } ? never : Name]: GivenFor<S[Name]>;
} & {
  [Name in keyof S as S[Name] extends { mayBeLeftOut: true } ? Name : never]?: GivenFor<S[Name]> | undefined;
};

type GivenFor<Row> = Row extends { readonly given?: infer Given } ? Given : never;

/** What {@link readOptions} returns. */
export type Settings<S> = { readonly [Name in keyof S]: S[Name] extends Reader<infer Kept> ? Kept : never };

/**
 * Reads the options of a shape, and rejects all others.
 *
 * @param where - What takes the options, such as `fixedWindow` or `limits[0]`.
 * @param prefix - What errors write in front of option names, such as `cors.`.
 * @throws PolicyError with `code` for a bad value, `SLUICE_OPTION_UNKNOWN` for unknown options, `SLUICE_OPTION_INVALID`
 * if `options` is not an object.
 */
export function readOptions<S extends Shape>(
  options: unknown,
  shape: S,
  where: string,
  code: SluiceErrorCode = 'SLUICE_OPTION_INVALID',
  prefix = '',
): Settings<S> {
  checkNames(options, Object.keys(shape), where);
  const settings: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(shape)) settings[name] = read(options[name], prefix + name, code);
  return settings as Settings<S>;
}

const MAX_LISTED = 10;

/** @throws PolicyError for a value that is not an object, and for unknown options, with what to write instead. */
export function checkNames(
  options: unknown,
  known: readonly string[],
  where: string,
): asserts options is Readonly<Record<string, unknown>> {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const example = known.includes('window') ? '; write, for example, { limit: 100, window: "1m" }' : '';
    const fields = known.length > MAX_LISTED ? 'of options' : `with ${listed(known)}`;
    const got = `got ${shown(options)}${example}`;
    throw new PolicyError(where, `${where} takes an object ${fields}, ${got}`, 'SLUICE_OPTION_INVALID');
  }
  const unknown = Object.entries(options as Record<string, unknown>).filter(([name]) => !known.includes(name));
  const [first, second] = unknown;
  if (first === undefined) return;
  const [name, value] = first;
  const tell = ([other, got]: readonly [string, unknown]): string =>
    `${JSON.stringify(other)} (got ${shown(got)}; ${suggest(other, known)})`;
  const what =
    second === undefined
      ? `option ${JSON.stringify(name)} (got ${shown(value)}); ${suggest(name, known)}`
      : `options ${unknown.slice(0, MAX_LISTED).map(tell).join(', ')}`;
  throw new PolicyError(name, `${where} has no ${what}`, 'SLUICE_OPTION_UNKNOWN');
}

/** The error for an option's value: what was expected, what was given, and in `hint` what to write. */
export function invalid(
  field: string,
  expected: string,
  got: unknown,
  code: SluiceErrorCode = 'SLUICE_OPTION_INVALID',
  hint = '',
): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}${hint}`, code);
}

/** A row for an option that may be left out, and is then undefined. */
// @__NO_SIDE_EFFECTS__
export function optional<Kept>(read: Reader<Kept>): Reader<Kept | undefined> & { mayBeLeftOut: true } {
  return withDefault<Kept | undefined>(read, undefined);
}

/** A row for an option that may be left out, and then has this value. */
// @__NO_SIDE_EFFECTS__
export function withDefault<Kept>(read: Reader<Kept>, byDefault: Kept): Reader<Kept> & { mayBeLeftOut: true } {
  const row: Reader<Kept> = (given, field, code) => (given === undefined ? byDefault : read(given, field, code));
  return Object.assign(row, { mayBeLeftOut: true as const });
}

/** A value that passes a check, and is kept unchanged. */
// @__NO_SIDE_EFFECTS__
export function valueThat<Kept>(is: (given: unknown) => boolean, expected: string): Reader<Kept> {
  return (given, field, code) => {
    if (is(given)) return given as Kept;
    throw invalid(field, expected, given, code);
  };
}

/** True or false. */
export const flag: Reader<boolean> = /* @__PURE__ */ valueThat((given) => typeof given === 'boolean', 'true or false');

/** One of some words. */
// @__NO_SIDE_EFFECTS__
export function oneOf<const Word extends string>(words: readonly Word[]): Reader<Word> {
  const quoted = words.map((word) => `"${word}"`);
  return valueThat((given) => words.includes(given as Word), listed(quoted, 'or'));
}

/** A function. */
// @__NO_SIDE_EFFECTS__
export function functionThat<Kept>(expected: string): Reader<Kept> {
  return valueThat((given) => typeof given === 'function', expected);
}

/** A whole number within bounds, both included. */
// @__NO_SIDE_EFFECTS__
export function wholeNumber(min: number, max: number, what = 'a whole number'): Reader<number> {
  const expected = `${what} from ${String(min)} to ${String(max)}`;
  return valueThat(
    (given) => Number.isSafeInteger(given) && !Object.is(given, -0) && Number(given) >= min && Number(given) <= max,
    expected,
  );
}

/** Milliseconds that a timer can wait. */
export const timerMs: Reader<number> = /* @__PURE__ */ wholeNumber(1, MAX_TIMER_MS, 'a whole number of milliseconds');

/** A {@link Duration}, kept in milliseconds. */
// @__NO_SIDE_EFFECTS__
export function duration(minMs: 0 | 1 = 1): Reader<number> & { readonly given?: Duration } {
  return (given, field, code) => parseDuration(given, field, code, minMs);
}

/** An object with its own options. Errors name them with it, such as `cors.origin`. */
// @__NO_SIDE_EFFECTS__
export function optionsOf<S extends Shape>(shape: S): Reader<Settings<S>> {
  return (given, field, code) => readOptions(given, shape, field, code, `${field}.`);
}
