import type { Framework } from './framework.ts';

/**
 * Whether a request is a CORS preflight of a browser, which has neither a body nor credentials. Any other OPTIONS
 * request counts.
 */
export function isPreflight<Request, Response>(framework: Framework<Request, Response>, request: Request): boolean {
  if (framework.method(request) !== 'OPTIONS') return false;
  const has = (name: string): boolean => framework.header(request, name) !== undefined;
  return (
    has('origin') &&
    has('access-control-request-method') &&
    (framework.header(request, 'content-length') ?? '0') === '0' &&
    !['transfer-encoding', 'content-type', 'authorization', 'cookie'].some(has) &&
    framework.rawRequest(request).stream?.endAfterHeaders !== false
  );
}
