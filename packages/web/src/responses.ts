/** By its methods: there may be several classes of that name in a process. */
export function isResponse(value: unknown): value is Response {
  return typeof (value as Partial<Response> | null | undefined)?.headers?.append === 'function';
}

/** A response with the same status, fields and, unless it has another one, body. */
export function copyResponse(response: Response, body: BodyInit | null = response.body): Response {
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

type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;
