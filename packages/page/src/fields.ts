import { PageProblem } from './exchange.ts';

/** The fields of a request's body. */
export type Fields = Readonly<Record<string, unknown>>;

const LONGEST_REASON = 200;
const LONGEST_NAME = 100;

/** @throws PageProblem 400 unless it is an object with no other fields than these. */
export function fieldsOf(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new PageProblem(400, 'the body must be a JSON object; nothing was done');
  }
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown === undefined) return body as Fields;
  throw new PageProblem(400, `unknown field ${quoted(unknown)}; known: ${known.join(', ')}; nothing was done`);
}

/** @throws PageProblem 400 for anything but a text that is not empty and not longer than this. */
export function textOf(fields: Fields, name: string, longest: number): string {
  const given = fields[name];
  if (typeof given === 'string' && given !== '' && given.length <= longest) return given;
  throw new PageProblem(
    400,
    `${name} must be a text of 1 to ${String(longest)} characters, got ${typeof given === 'string' ? `${String(given.length)} characters` : typeof given}; nothing was done`,
  );
}

/**
 * Why an operator changes something, and who it is.
 *
 * @param known - The name by which the operator is known, which takes precedence over the field `by`.
 * @throws PageProblem 400 without a reason, or without a name.
 */
export function reasonOf(fields: Fields, known: string | undefined): { readonly by: string; readonly reason: string } {
  return { reason: textOf(fields, 'reason', LONGEST_REASON), by: known ?? textOf(fields, 'by', LONGEST_NAME) };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, LONGEST_NAME));
}
