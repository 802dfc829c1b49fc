import { everything } from './limits.ts';

/**
 * Runs ahead of every route: `proxy.ts` in Next.js 16. In Next.js 15.5 it is `middleware.ts` with a function of that name, and
 * `runtime: 'nodejs'` in its config.
 */
export async function proxy(request: Request): Promise<Response> {
  const { response, headers } = await everything.check(request);
  if (response !== undefined) return response;
  // Next.js drops the fields of a route that the proxy has set: a limit of its own tells more.
  const fields = hasOwnLimit(request) ? [] : [...headers];
  // The same as NextResponse.next({ headers }), without the package.
  return new Response(null, { headers: [...fields, ['x-middleware-next', '1']] });
}

function hasOwnLimit({ method, url }: Request): boolean {
  return method === 'POST' && new URL(url).pathname === '/api/orders';
}

/** Read by Next.js. @public */
export const config = { matcher: '/api/:path*' };
