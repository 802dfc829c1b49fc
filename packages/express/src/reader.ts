import { warnOnce, type RequestReader } from '@sluice/core/http';
import type { Request } from 'express';

/** How Express 4 and 5 are asked about a request. */
export const reader: RequestReader<Request> = {
  address: (request) => request.ip,
  method: (request) => request.method,
  route: routeOf,
  header: (request, name) => request.get(name),
  user: (request) => (request as { user?: { id?: string | number } }).user?.id,
};

/**
 * The mount path and the matched route's own path. Before a route has matched, in `app.use`, only the mount path is
 * known.
 */
function routeOf(request: Request): string {
  const { app, baseUrl } = request;
  // The router finds /API and /api alike unless told otherwise, so they are one key.
  const mountPath = app.enabled('case sensitive routing') ? baseUrl : baseUrl.toLowerCase();
  const route = request.route as { path: string | RegExp | readonly (string | RegExp)[] } | undefined;
  if (route === undefined) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      `byRoute() was asked in app.use(${JSON.stringify(mountPath || '/')}, ...), before a route has matched: all routes below it share one budget. ` +
        'Put the limiter on the routes themselves, app.get(path, rateLimit(...), handler), for budgets of their own.',
      mountPath,
    );
    return mountPath || '/';
  }
  return mountPath + String(route.path);
}
