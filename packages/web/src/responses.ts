/** Checks its methods: a process may have several classes with this name. */
export function isResponse(value: unknown): value is Response {
  return typeof (value as Partial<Response> | null | undefined)?.headers?.append === 'function';
}

const TEXT_TYPE = 'text/plain;charset=utf-8';
/**
 * Whether the content type of a text is added only when it is sent, as in Bun: a copy, whose body is a stream, would
 * have none. Tested at the first copy, because workerd creates no response outside a request.
 */
let hidesTextType: boolean | undefined;

/** Copies a response, with another body and status if given. */
export function copyResponse(
  response: Response,
  body: BodyInit | null = response.body,
  status: number = response.status,
): Response {
  const headers = new Headers(response.headers); // @hono/node-server would share those that it is given
  const statusText = status === response.status ? response.statusText : '';
  const copy = new Response(body, { status, statusText, headers });
  hidesTextType ??= !new Response('').headers.has('content-type');
  if (hidesTextType && body !== null && !headers.has('content-type')) copy.headers.set('Content-Type', TEXT_TYPE);
  return copy;
}

type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;
