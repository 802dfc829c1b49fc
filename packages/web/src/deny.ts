import { mapMaybe, RateLimitError, type Plan, type RateLimitInfo } from '@sluice/core/http';
import { shown } from '@sluice/core/spi';
import { addFields, expose } from './add-fields.ts';
import type { Exchange } from './exchange.ts';
import { copyResponse, isResponse } from './responses.ts';

/** For a request whose client left while it waited; never received. */
const CLIENT_LEFT = 499;

/** What differs between plain fetch handlers and Hono. */
export interface Glue<Req> {
  /** Puts the key and the decision where handlers look for them. */
  record(request: Req, info: RateLimitInfo): void;
  make(request: Req, body: string | null, status: number, fields: Readonly<Record<string, string>>): Response;
  /** Adopts the response that `onDenied` returned. Default: unchanged. */
  adopt?(request: Req, response: Response): Response;
}

/**
 * The response to a denied request: that of `onDenied`, or problem details.
 *
 * @throws RateLimitError with `throw: true`; errors of `onDenied`. (Rejects with them if `onDenied` returns a promise.)
 */
export function deny<Req extends object>(
  exchange: Exchange<Req>,
  { denial, fields, info, settings }: Plan,
  glue: Glue<Req>,
): Response | Promise<Response> {
  const { request } = exchange;
  if (denial === undefined) return glue.make(request, null, CLIENT_LEFT, {});
  const all = [...fields, ...denial.fields];
  const exposes = settings?.cors === true;
  const written = Object.fromEntries(all.map(({ name, value }) => [name, value]));
  if (settings?.throw === true) throw new RateLimitError(denial, info?.decision, written);
  const make = (body: string | null): Response => {
    const response = glue.make(request, body, denial.status, written);
    if (exposes) expose(response, all);
    return response;
  };
  if (info === undefined || settings?.onDenied === undefined) {
    written['Content-Type'] = denial.contentType;
    return make(exchange.incoming.method === 'HEAD' ? null : denial.body);
  }
  return mapMaybe(settings.onDenied(request, undefined as never, info.decision), (value) => {
    if (value === undefined) return make(null);
    if (isResponse(value)) {
      // 200 is the status of a response created without one.
      const denying = value.status === 200 ? copyResponse(value, value.body, denial.status) : value;
      return addFields(glue.adopt?.(request, denying) ?? denying, all, exposes);
    }
    throw new TypeError(`onDenied must return a Response, or undefined for one without a body, got ${shown(value)}`);
  });
}
