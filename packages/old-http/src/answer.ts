import type { ResponsePlan } from './response-plan.ts';
import { mapMaybe } from './map-maybe.ts';
import { argumentOf, type Framework } from './framework.ts';
import type { Field } from './response/headers.ts';
import { RateLimitError, type Denial } from './response/denial.ts';

/** Header fields about another body, which middleware before the limiter may have set. */
const OF_ANOTHER_BODY = ['Content-Length', 'Content-Encoding', 'ETag'] as const;

/**
 * Writes the header fields of a decision and, if the request is denied, sends the response.
 *
 * @returns Whether the request continues. A promise only when `onDenied` returns one.
 * @throws RateLimitError for a denial, with `throw: true` or when another response has begun; errors of `onDenied`.
 * (Rejects with them if `onDenied` returns a promise.)
 */
export function answer<Request, Response>(
  framework: Framework<Request, Response>,
  plan: ResponsePlan<Request, Response>,
  request: Request,
  response: Response,
): boolean | Promise<boolean> {
  const { fields, info, denial, settings } = plan;
  if (info !== undefined) framework.record(request, info);
  const raw = framework.rawResponse(response);
  if (plan.isGone === true || raw.writableEnded) return false; // the client left, or got a response during the call to the store
  if (raw.headersSent) {
    if (denial === undefined) return true; // a stream that began earlier: only the fields are too late
    throw errorOf(framework, plan, denial, response);
  }
  writeFields(framework, response, fields);
  if (denial !== undefined) writeFields(framework, response, denial.fields);
  if (settings?.cors === true) {
    const written = denial === undefined ? fields : [...fields, ...denial.fields];
    exposeFields(
      framework,
      response,
      written.map(({ name }) => name),
    );
  }
  return denial === undefined ? true : deny(framework, plan, denial, request, response);
}

function deny<Request, Response>(
  framework: Framework<Request, Response>,
  plan: ResponsePlan<Request, Response>,
  denial: Denial,
  request: Request,
  response: Response,
): false | Promise<false> {
  const { info, settings } = plan;
  if (settings?.throw === true) throw errorOf(framework, plan, denial, response);
  framework.setStatus(response, denial.status);
  if (info !== undefined && settings?.onDenied !== undefined) {
    return mapMaybe(settings.onDenied(request, argumentOf(framework, response), info.decision), (value) => {
      const isResponse = value === response || value === framework.rawResponse(response);
      if (value !== undefined && !isResponse) framework.answerWith?.(response, value);
      return false as const;
    });
  }
  for (const name of OF_ANOTHER_BODY) {
    // Node sends a body in chunks once Content-Length was removed, even where there was none.
    if (framework.getHeader(response, name) !== undefined) framework.removeHeader(response, name);
  }
  framework.setHeader(response, 'Content-Type', denial.contentType);
  framework.send(response, denial.body);
  return false;
}

function errorOf<Request, Response>(
  framework: Framework<Request, Response>,
  { info, fields }: ResponsePlan<Request, Response>,
  denial: Denial,
  response: Response,
): RateLimitError {
  return new RateLimitError(denial, info?.decision, fields, (name) => framework.getHeader(response, name));
}

/** Sets header fields. Items of a list are added to those that other limiters of the request wrote. */
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

/**
 * Lets scripts of other origins read these fields and Retry-After, if the response allows an origin at all.
 */
export function exposeFields<Response>(
  framework: Pick<Framework<never, Response>, 'getHeader' | 'setHeader'>,
  response: Response,
  names: readonly string[],
): void {
  if (framework.getHeader(response, 'Access-Control-Allow-Origin') === undefined) return;
  const field = 'Access-Control-Expose-Headers';
  const exposed = (framework.getHeader(response, field) ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const known = new Set(exposed.map((name) => name.toLowerCase()));
  const ours = names.filter((name) => name !== 'Cache-Control');
  for (const name of [...ours, 'Retry-After'].sort()) {
    if (known.has(name.toLowerCase())) continue;
    known.add(name.toLowerCase());
    exposed.push(name);
  }
  framework.setHeader(response, field, exposed.join(', '));
}
