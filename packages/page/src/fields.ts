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

/** @throws PageProblem 400 unless it is an object with only these fields. */
export function readFields(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new PageProblem(400, 'the body must be a JSON object; nothing was done');
  }
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown === undefined) return body as Fields;
  const name = JSON.stringify(unknown.slice(0, MAX_NAME));
  throw new PageProblem(400, `unknown field ${name}; known: ${known.join(', ')}; nothing was done`);
}

/** @throws PageProblem 400 for anything but a non-empty string of at most this length. */
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
