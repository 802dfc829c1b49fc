import { isPreflight } from '@sluice/old-http/spi';
import { framework } from './framework.ts';
import type { OriginalRequest } from './original-request.ts';

/**
 * The methods whose rules a request is held to: its own; for HEAD that of GET too, as one route answers both; for a
 * CORS preflight that of the request that it announces. Undefined where the gateway does not state the method.
 */
export function methodsOf(request: OriginalRequest): readonly string[] | undefined {
  const { statedMethod } = request;
  if (statedMethod === undefined) return undefined;
  if (statedMethod !== 'OPTIONS' || !isPreflight(framework, request)) return spellingsOf(statedMethod);
  const announced = request.header('access-control-request-method') ?? '';
  return [statedMethod, ...spellingsOf(announced)];
}

const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): [string, readonly string[]] => [method, [method]]),
  ['HEAD', ['HEAD', 'GET']],
]);

/** The methods that a method counts as: HEAD is GET too, and some upstreams accept small letters. */
export function spellingsOf(method: string): readonly string[] {
  const known = KNOWN.get(method);
  if (known !== undefined) return known;
  const capitals = method.toUpperCase();
  return capitals === method ? [method] : [method, ...spellingsOf(capitals)];
}
