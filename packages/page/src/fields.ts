import { PageProblem } from './exchange.ts';

/** The fields of a request's body. */
export type Fields = Readonly<Record<string, unknown>>;

/** Who changes something, and why. */
export interface Reason {
  readonly by: string;
  readonly reason: string;
}

const MAX_REASON = 200;
const MAX_NAME = 100;

/** @throws PageProblem 400 for anything but a text that is not empty and not longer than this. */
export function readText(fields: Fields, name: string, max: number): string {
  const given = fields[name];
  if (typeof given === 'string' && given !== '' && given.length <= max) return given;
  const got = typeof given === 'string' ? `${String(given.length)} characters` : typeof given;
  throw new PageProblem(
    400,
    `${name} must be a string of 1 to ${String(max)} characters, got ${got}; nothing was done`,
  );
}

/**
 * Why an operator changes something, and the operator's name.
 *
 * @param known - The name by which the operator is known, which takes precedence over the field `by`.
 * @throws PageProblem 400 without a reason, or without a name.
 */
export function readReason(fields: Fields, known: string | undefined): Reason {
  return { reason: readText(fields, 'reason', MAX_REASON), by: known ?? readText(fields, 'by', MAX_NAME) };
}
