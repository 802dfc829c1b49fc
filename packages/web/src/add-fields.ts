import { exposeFields, type Plan } from '@sluice/core/http';
import { copyResponse } from './responses.ts';

type Fields = Plan['fields'];

/**
 * Adds header fields to a response of the application, which stays the same object if it has a body and its fields can be
 * changed. A field that the application has set stays. Lists are added to: those of outer limiters come first.
 *
 * @param exposes - Whether scripts of other origins may read the fields.
 */
export function addFields(response: Response, fields: Fields, exposes: boolean): Response {
  // An upgrade or an error has no fields.
  if (fields.length === 0 || response.status < 200) return response;
  try {
    // Without a body it may be a constant, which is returned for other requests too.
    if (response.body !== null) return writeFields(response, fields, exposes);
  } catch {
    // The fields of fetched responses cannot be changed.
  }
  return writeFields(copyResponse(response), fields, exposes);
}

function writeFields(response: Response, fields: Fields, exposes: boolean): Response {
  const { headers } = response;
  for (const { name, value, append } of fields) {
    const before = headers.get(name);
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
