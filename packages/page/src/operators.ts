import { timingSafeEqual } from 'node:crypto';
import { digest } from '@sluice/old-http/spi';
import type { PageRequest } from './exchange.ts';

/** Who uses the page. The name is what the log shows; undefined where none is known. */
export interface Operator {
  readonly name: string | undefined;
}

/** What `authorize` may return: whether the request may use the page, or who sends it. */
export type Authorized = boolean | string | { readonly name: string } | null | undefined;

/** Decides who sends a request; undefined: a client that may not use the page. */
export type FindOperator = (request: PageRequest) => Promise<Operator | undefined>;

/** Longer fields than that hold no token. */
const LONGEST_FIELD = 4_096;

/**
 * By a token: `Authorization: Bearer TOKEN`, or Basic with the token as password and any name, which browsers ask for.
 * The comparison takes the same time whatever is wrong.
 */
export function operatorsByToken(token: string): FindOperator {
  const expected = digest(token);
  // eslint-disable-next-line @typescript-eslint/require-await -- as the other one
  return async (request) => {
    const { name, token: given } = credentialsOf(request.header('authorization') ?? '');
    return timingSafeEqual(digest(given), expected) ? { name } : undefined;
  };
}

/** By the function of the application. An error of it is an error of the request. */
export function operatorsBy(authorize: (request: never) => Authorized | Promise<Authorized>): FindOperator {
  return async (request) => {
    const found = await authorize(request.native as never);
    if (found === true) return { name: undefined };
    if (typeof found === 'string' && found !== '') return { name: found };
    return typeof found === 'object' && found !== null ? { name: found.name } : undefined;
  };
}

/** Without expressions, so that no field takes long to read. */
function credentialsOf(field: string): { readonly name: string | undefined; readonly token: string } {
  if (field.length > LONGEST_FIELD) return { name: undefined, token: '' };
  const space = field.indexOf(' ');
  const scheme = field.slice(0, Math.max(space, 0)).toLowerCase();
  const rest = field.slice(space + 1).trim();
  if (scheme === 'bearer') return { name: undefined, token: rest };
  if (scheme !== 'basic') return { name: undefined, token: '' };
  const pair = Buffer.from(rest, 'base64').toString();
  const colon = pair.indexOf(':');
  const name = pair.slice(0, Math.max(colon, 0));
  return { name: name === '' ? undefined : name, token: pair.slice(colon + 1) };
}
