import type { Enforcement } from './enforcement.ts';
import { eventually } from './eventually.ts';
import type { Framework } from './framework.ts';
import type { Field } from './headers.ts';
import { RateLimitError, type Refusal } from './problem.ts';

/** What middleware ahead of the limiter may have said of the body that is not going to be sent. */
const OF_ANOTHER_BODY = ['Content-Length', 'Content-Encoding', 'ETag'] as const;

/**
 * Writes the header fields of a request that was decided and, where it is refused, answers it.
 *
 * @returns Whether the request goes on: at once, but for a promise that `onDenied` answers.
 * @throws RateLimitError for a refusal, with `throw: true`, or when another answer has begun; what `onDenied` throws. (Or
 * rejects, where it is waited for.)
 */
export function answer<Request, Response>(
  framework: Framework<Request, Response>,
  enforcement: Enforcement<Request, Response>,
  request: Request,
  response: Response,
): boolean | Promise<boolean> {
  const { fields, info, refusal, options } = enforcement;
  if (info !== undefined) framework.record(request, info);
  const raw = framework.rawResponse(response);
  if (enforcement.hasLeft === true || raw.writableEnded) return false; // the client has gone, or was answered while the store was asked
  if (raw.headersSent) {
    if (refusal === undefined) return true; // a stream that began before: only the fields come too late
    throw errorOf(framework, enforcement, refusal, response);
  }
  writeFields(framework, response, fields);
  if (refusal !== undefined) writeFields(framework, response, refusal.fields);
  if (options?.cors === true)
    expose(framework, response, refusal === undefined ? fields : [...fields, ...refusal.fields]);
  return refusal === undefined ? true : refuse(framework, enforcement, refusal, request, response);
}

function refuse<Request, Response>(
  framework: Framework<Request, Response>,
  enforcement: Enforcement<Request, Response>,
  refusal: Refusal,
  request: Request,
  response: Response,
): false | Promise<false> {
  const { info, options } = enforcement;
  if (options?.throw === true) throw errorOf(framework, enforcement, refusal, response);
  framework.setStatus(response, refusal.status);
  if (info !== undefined && options?.onDenied !== undefined) {
    return eventually(options.onDenied(request, response, info.decision), (value) => {
      const isResponse = value === response || value === framework.rawResponse(response);
      if (value !== undefined && !isResponse) framework.answerWith?.(response, value);
      return false as const;
    });
  }
  for (const name of OF_ANOTHER_BODY) framework.removeHeader(response, name);
  framework.setHeader(response, 'Content-Type', refusal.contentType);
  framework.send(response, refusal.body);
  return false;
}

function errorOf<Request, Response>(
  framework: Framework<Request, Response>,
  { info, fields }: Enforcement<Request, Response>,
  refusal: Refusal,
  response: Response,
): RateLimitError {
  return new RateLimitError(refusal, info?.decision, fields, (name) => framework.getHeader(response, name));
}

/** Sets header fields, or adds to the lists that other limiters of the request have begun. */
function writeFields<Request, Response>(
  framework: Framework<Request, Response>,
  response: Response,
  fields: readonly Field[],
): void {
  for (let i = 0; i < fields.length; i++) {
    const { name, value, append } = fields[i] as Field;
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
