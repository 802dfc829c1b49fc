import { createHash, timingSafeEqual } from 'node:crypto';
import type { PageRequest } from './exchange.ts';

/** The user of the page. The log shows the name, which is undefined if unknown. */
export interface Operator {
  readonly name: string | undefined;
}

/** What `authorize` may return: whether the request may use the page, or who sends it. */
export type Authorized = boolean | string | null | undefined;

/** Determines who sent a request; undefined: a client that may not use the page. */
export type FindOperator = (request: PageRequest) => Promise<Operator | undefined>;

/** Longer fields contain no token. */
const MAX_FIELD = 4_096;

/**
 * By a token: `Authorization: Bearer TOKEN`, or Basic with the token as password and any name, which browsers ask for.
 * The comparison takes the same time whatever is wrong.
 */
export function findByToken(token: string): FindOperator {
  const expected = digest(token);
  // eslint-disable-next-line @typescript-eslint/require-await -- as the other one
  return async (request) => {
    const { name, token: given } = readCredentials(request.header('authorization') ?? '');
    return timingSafeEqual(digest(given), expected) ? { name } : undefined;
  };
}

/** By the application's function. Its errors fail the request. */
export function findByAuthorize(authorize: (request: never) => Authorized | Promise<Authorized>): FindOperator {
  return async (request) => {
    const found = await authorize(request.native as never);
    if (found === true) return { name: undefined };
    return typeof found === 'string' && found !== '' ? { name: found } : undefined;
  };
}

function readCredentials(field: string): { readonly name: string | undefined; readonly token: string } {
  if (field.length > MAX_FIELD) return { name: undefined, token: '' };
  const [, scheme = '', rest = ''] = /^(\S+) +(.*)$/s.exec(field) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { name: undefined, token: rest.trim() };
  if (scheme.toLowerCase() !== 'basic') return { name: undefined, token: '' };
  const pair = Buffer.from(rest, 'base64').toString();
  const colon = pair.indexOf(':');
  return { name: pair.slice(0, Math.max(colon, 0)) || undefined, token: pair.slice(colon + 1) };
}

function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
