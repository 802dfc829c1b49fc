import { exposeFields, type Plan } from '@sluice/core/http';
import type { Exchange } from './exchange.ts';
import { copyResponse } from './responses.ts';

type Fields = Plan['fields'];

const CHANGES: unique symbol = Symbol('changes');
interface Changed {
  /** The fields that were changed, with their earlier values, and the visit that changed them. */
  [CHANGES]: { readonly visit: number; readonly before: Record<string, string | null> } | undefined;
}

/**
 * Adds header fields to a response of the application, which stays the same object if its fields can be changed. Fields
 * that the application has set stay. Lists are appended to: items of outer limiters come first.
 *
 * @param exposes - Whether scripts of other origins may read the fields.
 */
export function addFields(response: Response, fields: Fields, exposes: boolean, exchange: Exchange): Response {
  if (response.status < 200) return response; // an upgrade or an error has no fields
  const earlier = (response as unknown as Changed)[CHANGES];
  // Without a body, it is a constant that has the fields of another request. A body is sent only once.
  if (earlier !== undefined && earlier.visit !== exchange.visit && response.body === null) {
    const copy = copyResponse(response);
    for (const [name, value] of Object.entries(earlier.before)) {
      if (value === null) copy.headers.delete(name);
      else copy.headers.set(name, value);
    }
    return addFields(copy, fields, exposes, exchange);
  }
  if (fields.length === 0) return response;
  try {
    return writeFields(response, fields, exposes, exchange);
  } catch {
    // The fields of redirects and of fetched responses cannot be changed.
    return writeFields(copyResponse(response), fields, exposes, exchange);
  }
}

function writeFields(response: Response, fields: Fields, exposes: boolean, { visit }: Exchange): Response {
  const { headers } = response;
  const known = ((response as unknown as Changed)[CHANGES] ??= { visit, before: {} });
  for (const { name, value, append } of fields) {
    const before = headers.get(name);
    if (!(name in known.before)) known.before[name] = before;
    if (before === null) headers.set(name, value);
    else if (append) headers.set(name, `${value}, ${before}`);
  }
  if (exposes) expose(response, fields);
  return response;
}

/** Lets scripts of other origins read the fields of a response, if it allows an origin. */
export function expose(response: Response, fields: Fields): void {
  exposeFields(onHeaders, response.headers, fields);
}

const onHeaders = {
  getHeader: (headers: Headers, name: string): string | undefined => headers.get(name) ?? undefined,
  setHeader: (headers: Headers, name: string, value: string): void => {
    headers.set(name, value);
  },
};
