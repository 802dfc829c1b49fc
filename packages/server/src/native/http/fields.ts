import { insteadOf } from '@sluice/old-core/inspect';
import { RequestProblem } from '../../transport/request-problem.ts';

/** The body of a client, as an object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a body: an object with these and no other fields.
 *
 * @throws RequestProblem 400.
 */
export function fieldsOf(body: unknown, needed: readonly string[], optional: readonly string[]): Fields {
  const known = [...needed, ...optional];
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest(`the body must be an object with ${needed.join(', ')}, got ${shown(body)}`);
  }
  for (const name of Object.keys(body)) {
    if (known.includes(name)) continue;
    throw badRequest(`there is no field ${shown(name)}; ${insteadOf(name, known)}`);
  }
  const fields = body as Fields;
  for (const name of needed) {
    if (fields[name] === undefined) throw badRequest(`the field ${name} is missing; expected ${known.join(', ')}`);
  }
  return fields;
}

/** A problem of what a client sent. Nothing was done then. */
export function badRequest(detail: string): RequestProblem {
  return new RequestProblem(400, `${detail}; nothing was done`);
}

/** A value of a client, short enough for an error. */
export function shown(value: unknown): string {
  const text =
    typeof value === 'object' && value !== null
      ? Array.isArray(value)
        ? 'a list'
        : 'an object'
      : JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 80)}...`;
}
