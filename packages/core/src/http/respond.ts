import { argumentFor, type Framework } from './framework.ts';
import { mapMaybe } from './maybe.ts';
import type { Plan } from './plan.ts';
import { RateLimitError, type Denial } from './response/denial.ts';
import type { Field } from './response/headers.ts';

/** Header fields about another body, which middleware before the limiter may have set. */
const OF_ANOTHER_BODY = ['content-length', 'content-encoding', 'etag'] as const;

/**
 * Writes the header fields of a decision and, if the request is denied, sends the response.
 *
 * @returns Whether the request continues. A promise only if `onDenied` returns one.
 * @throws RateLimitError for a denial, with `throw: true` or if another response has begun; errors of `onDenied`.
 * (Rejects with them if `onDenied` returns a promise.)
 */
export function respond<Request, Response>(
  framework: Framework<Request, Response>,
  plan: Plan<Request, Response>,
  request: Request,
  response: Response,
): boolean | Promise<boolean> {
  const { fields, info, denial, settings } = plan;
  if (info !== undefined) framework.record(request, info);
  const raw = framework.rawResponse(response);
  if (plan.isGone || raw.writableEnded) return false; // the client left, or got a response during the call to the store
  if (raw.headersSent) {
    if (denial === undefined) return true; // a stream that began earlier: only the fields are too late
    throw errorFor(framework, plan, denial, response);
  }
  writeFields(framework, response, fields);
  if (denial !== undefined) writeFields(framework, response, denial.fields);
  if (settings?.cors === true) exposeFields(framework, response, [...fields, ...(denial?.fields ?? [])]);
  return denial === undefined ? true : deny(framework, plan, denial, request, response);
}

function deny<Request, Response>(
  framework: Framework<Request, Response>,
  plan: Plan<Request, Response>,
  denial: Denial,
  request: Request,
  response: Response,
): false | Promise<false> {
  const { info, settings } = plan;
  if (settings?.throw === true) throw errorFor(framework, plan, denial, response);
  framework.setStatus(response, denial.status);
  if (info !== undefined && settings?.onDenied !== undefined) {
    return mapMaybe(settings.onDenied(request, argumentFor(framework, response), info.decision), (value) => {
      const isResponse = value === response || value === framework.rawResponse(response);
      if (value !== undefined && !isResponse) framework.answerWith?.(response, value);
      return false as const;
    });
  }
  for (const name of OF_ANOTHER_BODY) {
    // Node sends a body in chunks once Content-Length was removed, even if there was none.
    if (framework.getHeader(response, name) !== undefined) framework.removeHeader(response, name);
  }
  framework.setHeader(response, 'Content-Type', denial.contentType);
  framework.send(response, denial.body);
  return false;
}

/** The error of a denial, with the header fields as the response has them, those of other limiters included. */
function errorFor<Request, Response>(
  framework: Framework<Request, Response>,
  { info, fields }: Plan<Request, Response>,
  denial: Denial,
  response: Response,
): RateLimitError {
  const written = [...fields, ...denial.fields].map(({ name, key, value }): [string, string] => [
    name,
    framework.getHeader(response, key) ?? value,
  ]);
  return new RateLimitError(denial, info?.decision, Object.fromEntries(written));
}

/** Sets header fields. Items of a list are added to those that other limiters of the request wrote. */
function writeFields<Request, Response>(
  framework: Framework<Request, Response>,
  response: Response,
  fields: readonly Field[],
): void {
  for (const { name, key, value, append } of fields) {
    const before = append ? framework.getHeader(response, key) : undefined;
    framework.setHeader(response, name, before === undefined || before === '' ? value : `${before}, ${value}`);
  }
}

/** Lets scripts of other origins read these fields and Retry-After, if the response allows an origin at all. */
export function exposeFields<Response>(
  framework: Pick<Framework<never, Response>, 'getHeader' | 'setHeader'>,
  response: Response,
  fields: readonly Pick<Field, 'name'>[],
): void {
  if (framework.getHeader(response, 'access-control-allow-origin') === undefined) return;
  const before = framework.getHeader(response, 'access-control-expose-headers') ?? '';
  const exposed = before
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const known = new Set(exposed.map((name) => name.toLowerCase()));
  const ours = new Set([...fields.map(({ name }) => name), 'Retry-After'].sort());
  for (const name of ours) if (name !== 'Cache-Control' && !known.has(name.toLowerCase())) exposed.push(name);
  framework.setHeader(response, 'Access-Control-Expose-Headers', exposed.join(', '));
}
