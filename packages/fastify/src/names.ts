import { createHash } from 'node:crypto';

/** Routes in which every character maps to a different one in a name. */
const READABLE = /^[A-Z][A-Z,]* (?:\/:?[A-Za-z0-9-]*)+$/;
/** Names have at most 64 characters, and a number may follow. */
const MAX_LENGTH = 60;

/** A route as written. For a GET route, Fastify adds a HEAD route; both are one place. */
export function getRoutePlace(method: string | readonly string[] | undefined, url: string): string {
  const methods = [method ?? []].flat();
  const reads = methods.includes('GET') || methods.includes('HEAD');
  return `${reads ? 'GET' : [...methods].sort().join(',')} ${url}`;
}

/**
 * The name of the limit of a route, such as `GET.items._id` for `GET /items/:id`. Routes whose names would be equal or
 * too long get part of the name and a hash.
 */
export function nameForRoute(place: string): string {
  const [methods = '', url = ''] = place.split(' /', 2);
  const readable = `${methods.replaceAll(',', '-')}.${url.replaceAll(/(^|\/):/g, '$1_').replaceAll('/', '.')}`;
  if (READABLE.test(place) && readable.length <= MAX_LENGTH) return readable;
  return `${readable.replaceAll(/[^\w.-]/g, '').slice(0, MAX_LENGTH - 11)}-${hash(place)}`;
}

/** The name of the limit of a scope. */
export function nameForScope(place: string): string {
  return `scope-${hash(place)}`;
}

/** Short, and the same in every process. */
function hash(place: string): string {
  return createHash('sha256').update(place).digest('hex').slice(0, 10);
}
