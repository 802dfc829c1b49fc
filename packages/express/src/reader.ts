import { warnOnce, type RequestReader } from '@sluice/core/http';
import type { Request } from 'express';
import { mountPath } from './mount-path.ts';

/** How Express 4 and 5 are asked about a request. */
export const reader: RequestReader<Request> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: routeOf,
  header: (request, name) => request.get(name),
  user: (request) => (request as { user?: { id?: string | number } }).user?.id,
};

/**
 * The mount path and the matched route's own path, as they are written in the application. Before a route has matched,
 * in `app.use`, only the mount path is known.
 */
function routeOf(request: Request): string {
  const { baseUrl, route } = request as { baseUrl: string; route?: { path: string | RegExp | readonly unknown[] } };
  const path = mountPath(request);
  if (path === undefined) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      `byRoute() did not find where the router of ${JSON.stringify(baseUrl)} is mounted, so this path itself is the key. ` +
        'Mount applications with app.use, not router.use, and routers under paths without parameters.',
    );
  } else if (route === undefined) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      `byRoute() was asked in app.use(${JSON.stringify(path || '/')}, ...), before a route has matched: all routes below it share one budget. ` +
        'Put the limiter on the routes themselves, app.get(path, rateLimit(...), handler), for budgets of their own.',
      path,
    );
  }
  return (path ?? baseUrl.toLowerCase()) + (route === undefined ? '' : String(route.path)) || '/';
}
