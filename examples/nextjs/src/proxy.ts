import { everything } from './limits.ts';

/** Runs ahead of every route: `proxy.ts` in Next.js 16, `middleware.ts` before. */
export async function proxy(request: Request): Promise<Response> {
  const { response, headers } = await everything.check(request);
  if (response !== undefined) return response;
  // The same as NextResponse.next({ headers }), without the package.
  return new Response(null, { headers: [...headers, ['x-middleware-next', '1']] });
}

/** Read by Next.js. @public */
export const config = { matcher: '/api/:path*' };
