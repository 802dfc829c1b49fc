import { joinLines, type AnyFramework, type Framework, type HeaderValue, type RawResponse } from './framework.ts';
import { mapMaybe, type MaybePromise } from './maybe.ts';
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
export function respond(
  framework: AnyFramework,
  plan: Plan,
  request: object,
  response: unknown,
): MaybePromise<boolean> {
  const { info, denial, settings } = plan;
  if (info !== undefined) framework.record?.(request, info);
  const raw = framework.rawResponse(response) as RawResponse;
  if (plan.isGone === true) return false;
  if (raw.headersSent) {
    if (raw.writableEnded) return false; // the client got a response during the call to the store
    if (denial === undefined) return true; // a stream that began earlier: only the fields are too late
    throw makeError(framework, plan, denial, response);
  }
  const fields = denial === undefined ? plan.fields : listFields(plan);
  let mayAppend = true;
  // By lower-case names: for any other, Node would create a new string, which takes as long as a decision.
  for (let i = 0; i < fields.length; i++) {
    const { key, value, append } = fields[i] as Field;
    // List items are appended to those that other limiters of the request wrote.
    const before: HeaderValue = append && mayAppend ? framework.getHeader(response, key) : undefined;
    if (append) mayAppend = before !== undefined;
    framework.setHeader(
      response,
      key,
      before === undefined || before === '' ? value : `${[before].flat().join(', ')}, ${value}`,
    );
  }
  if (settings?.cors === true) exposeFields(framework, response, fields);
  if (denial === undefined) return true;
  if (settings?.throw === true) throw makeError(framework, plan, denial, response);
  framework.setStatus(response, denial.status);
  if (info === undefined || settings?.onDenied === undefined) return send(framework, denial, response);
  return mapMaybe(settings.onDenied(request, response, info.decision), (value) => {
    if (value !== undefined && value !== response && value !== raw) framework.answerWith?.(response, value);
    return false;
  });
}

function listFields({ fields, denial }: Plan): readonly Field[] {
  return denial === undefined ? fields : [...fields, ...denial.fields];
}

function send(framework: AnyFramework, { contentType, body }: Denial, response: unknown): false {
  for (const name of OF_ANOTHER_BODY) {
    // Node sends a body in chunks once Content-Length was removed, even if there was none.
    if (framework.getHeader(response, name) !== undefined) framework.removeHeader(response, name);
  }
  framework.setHeader(response, 'content-type', contentType);
  framework.send(response, body);
  return false;
}

/** The error of a denial, with the header fields as the response has them, those of other limiters included. */
function makeError(framework: AnyFramework, plan: Plan, denial: Denial, response: unknown): RateLimitError {
  const written = listFields(plan).map(({ name, key, value }): [string, string] => [
    name,
    joinLines(framework.getHeader(response, key)) ?? value,
  ]);
  return new RateLimitError(denial, plan.info?.decision, Object.fromEntries(written));
}

/** Lets scripts of other origins read these fields and Retry-After, if the response allows an origin at all. */
export function exposeFields<Response>(
  framework: Pick<Framework<never, Response>, 'getHeader' | 'setHeader'>,
  response: Response,
  fields: readonly Pick<Field, 'name'>[],
): void {
  if (framework.getHeader(response, 'access-control-allow-origin') === undefined) return;
  const before = joinLines(framework.getHeader(response, 'access-control-expose-headers')) ?? '';
  const exposed = before.split(/[\s,]+/).filter((name) => name !== '');
  const known = new Set(exposed.map((name) => name.toLowerCase()));
  for (const name of new Set([...fields.map((field) => field.name), 'Retry-After'].sort())) {
    if (name !== 'Cache-Control' && !known.has(name.toLowerCase())) exposed.push(name);
  }
  framework.setHeader(response, 'Access-Control-Expose-Headers', exposed.join(', '));
}
