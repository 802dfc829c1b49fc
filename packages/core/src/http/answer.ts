import type { Framework, RateLimitInfo } from './framework.ts';
import type { Field } from './headers.ts';
import type { RateLimitOptions } from './options.ts';
import { RateLimitError, type Refusal } from './problem.ts';

/** What is to be done with a request. */
export interface Enforcement<Request, Response> {
  /** Header fields of the answer, whoever writes it. */
  readonly fields: readonly Field[];
  /** Undefined when the request was not limited. */
  readonly info: RateLimitInfo | undefined;
  /** Set when the request is refused: the answer to give, unless `onDenied` gives it or `throw` makes an error of it. */
  readonly refusal: Refusal | undefined;
  /** Those that say how to answer. */
  readonly options?: RateLimitOptions<Request, Response>;
  /** The client has left while it waited: nobody is to be answered. */
  readonly hasLeft?: boolean;
}

/** What middleware ahead of the limiter may have said of the body that is not going to be sent. */
const OF_ANOTHER_BODY = ['Content-Length', 'Content-Encoding', 'ETag'] as const;

/**
 * Writes the header fields of a request that was decided and, where it is refused, answers it.
 *
 * @returns Whether the request goes on.
 * @throws RateLimitError for a refusal, with `throw: true`, or when another answer has begun; what `onDenied` throws.
 */
export async function answer<Request, Response>(
  framework: Framework<Request, Response>,
  { fields, info, refusal, options, hasLeft }: Enforcement<Request, Response>,
  request: Request,
  response: Response,
): Promise<boolean> {
  if (info !== undefined) framework.record(request, info);
  const raw = framework.rawResponse(response);
  if (hasLeft || raw.writableEnded) return false; // the client has gone, or was answered while the store was asked
  const errorOf = (refused: NonNullable<typeof refusal>): RateLimitError =>
    new RateLimitError(refused, info?.decision, fields, (name) => framework.getHeader(response, name));
  if (raw.headersSent) {
    if (refusal === undefined) return true; // a stream that began before: only the fields come too late
    throw errorOf(refusal);
  }
  writeFields(framework, response, fields);
  if (refusal !== undefined) writeFields(framework, response, refusal.fields);
  if (options?.cors === true)
    expose(framework, response, refusal === undefined ? fields : [...fields, ...refusal.fields]);
  if (refusal === undefined) return true;
  if (options?.throw === true) throw errorOf(refusal);
  framework.setStatus(response, refusal.status);
  if (info !== undefined && options?.onDenied !== undefined) {
    const value = await options.onDenied(request, response, info.decision);
    const isResponse = value === response || value === raw;
    if (value !== undefined && !isResponse) framework.answerWith?.(response, value);
    return false;
  }
  for (const name of OF_ANOTHER_BODY) framework.removeHeader(response, name);
  framework.setHeader(response, 'Content-Type', refusal.contentType);
  framework.send(response, refusal.body);
  return false;
}

/** Sets header fields, or adds to the lists that other limiters of the request have begun. */
function writeFields<Request, Response>(
  framework: Framework<Request, Response>,
  response: Response,
  fields: readonly Field[],
): void {
  for (const { name, value, append } of fields) {
    const before = append ? framework.getHeader(response, name) : undefined;
    framework.setHeader(response, name, before === undefined || before === '' ? value : `${before}, ${value}`);
  }
}

/** Lets scripts of other origins read the fields, where the answer lets them read anything. */
function expose<Request, Response>(
  framework: Framework<Request, Response>,
  response: Response,
  fields: readonly Field[],
): void {
  if (framework.getHeader(response, 'Access-Control-Allow-Origin') === undefined) return;
  const name = 'Access-Control-Expose-Headers';
  const exposed = (framework.getHeader(response, name) ?? '')
    .split(',')
    .map((field) => field.trim())
    .filter((field) => field !== '');
  const known = new Set(exposed.map((field) => field.toLowerCase()));
  const ours = fields.map((field) => field.name).filter((field) => field !== 'Cache-Control');
  for (const field of [...ours, 'Retry-After'].sort()) {
    if (known.has(field.toLowerCase())) continue;
    known.add(field.toLowerCase());
    exposed.push(field);
  }
  framework.setHeader(response, name, exposed.join(', '));
}
