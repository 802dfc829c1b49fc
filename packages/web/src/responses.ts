/** By its methods: there may be several classes of that name in a process. */
export function isResponse(value: unknown): value is Response {
  return typeof (value as Partial<Response> | null | undefined)?.headers?.append === 'function';
}

const TEXT_TYPE = 'text/plain;charset=utf-8';
/**
 * Whether the type of a text is added only as it is sent, as by Bun: a copy, whose body is a stream, would have none.
 * Asked at the first copy, because workerd makes no response outside of a request.
 */
let hidesTextType: boolean | undefined;

/** A response with the same fields and, unless others are given, body and status. */
export function copyResponse(
  response: Response,
  body: BodyInit | null = response.body,
  status: number = response.status,
): Response {
  const { headers } = response;
  const statusText = status === response.status ? response.statusText : '';
  const copy = new Response(body, { status, statusText, headers });
  hidesTextType ??= !new Response('').headers.has('content-type');
  if (hidesTextType && body !== null && !headers.has('content-type')) copy.headers.set('Content-Type', TEXT_TYPE);
  return copy;
}

type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;
