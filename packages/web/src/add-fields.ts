import { PrivateFields } from '@sluice/old-core/spi';
import type { HeaderField } from './exchange.ts';

/**
 * Adds header fields to a response of the application, which stays the same object where its fields can be changed. A
 * field that the application has set itself stays, and lists are added to.
 */
export function addFields(response: Response, fields: readonly HeaderField[]): Response {
  if (response.status < 200) return response; // an upgrade or an error has no fields
  const earlier = Changed.fieldsOf(response);
  // Without a body it is a constant that already has the fields of another request. A body is sent only once.
  if (earlier !== undefined && response.body === null) {
    const copy = copyOf(response);
    removeFields(copy.headers, earlier);
    return withFields(copy, fields);
  }
  if (fields.length === 0) return response;
  try {
    withFields(response, fields);
  } catch (error) {
    if ((error as Error).name !== 'TypeError') throw error;
    return withFields(copyOf(response), fields); // the fields of redirects and of fetched responses cannot be changed
  }
  Changed.write(response, fields);
  return response;
}

/** A response with the same status, fields and, unless it has another one, body. */
export function copyOf(response: Response, body: BodyInit | null = response.body): Response {
  const { status, statusText, headers } = response;
  const copy = new Response(body, { status, statusText, headers });
  if (hidesTextType && body !== null && !headers.has('content-type')) copy.headers.set('Content-Type', TEXT_TYPE);
  return copy;
}

const TEXT_TYPE = 'text/plain;charset=utf-8';
/**
 * Whether the type of a text is added only as it is sent, as by Bun: a copy, whose body is a stream, would have none.
 */
const hidesTextType = !new Response('').headers.has('content-type');

function withFields(response: Response, fields: readonly HeaderField[]): Response {
  const { headers } = response;
  for (const [name, value] of fields) {
    if (isList(value)) headers.append(name, value);
    else if (!headers.has(name)) headers.set(name, value);
  }
  return response;
}

function removeFields(headers: Headers, fields: readonly HeaderField[]): void {
  for (const [name, value] of fields) {
    const own = headers.get(name);
    if (own === value) headers.delete(name);
    else if (isList(value) && own?.endsWith(`, ${value}`) === true) headers.set(name, own.slice(0, -value.length - 2));
  }
}

/** Whether a field is a list of policies, to which every limiter of a request adds: it begins with a quoted name. */
function isList(value: string): boolean {
  return value.startsWith('"');
}

type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;

/** Remembers what was added to a response. */
class Changed extends PrivateFields {
  #fields: readonly HeaderField[] = [];

  static fieldsOf(response: object): readonly HeaderField[] | undefined {
    return #fields in response ? response.#fields : undefined;
  }

  static write(response: object, fields: readonly HeaderField[]): void {
    const changed = #fields in response ? response : new Changed(response);
    changed.#fields = fields;
  }
}
