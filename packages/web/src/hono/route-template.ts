import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';

/** The method of routes that Hono stores for middleware, and for `app.all`. */
const ALL = 'ALL';

/**
 * The template of the route that answers a request, with the paths of the surrounding applications, as Hono's router
 * matched it. Middleware is not a route. Undefined if the request matches none.
 */
export function routeTemplate(c: Context): string | undefined {
  const routes = matchedRoutes(c);
  let open: string | undefined;
  for (const { method, path, handler } of routes) {
    // Hono's own tools tell them apart in the same way: middleware takes `next`.
    if (method !== ALL || handler.length < 2) return path;
    if (!/^\/?\*?$/.test(path)) open = path;
  }
  return open;
}
