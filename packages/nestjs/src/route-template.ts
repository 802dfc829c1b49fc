import { warnOnce } from '@sluice/core/http';
import type { ExpressApp, FoundRequest } from './nest-request.ts';

/**
 * The template of a request's route, as it is written in the application. On Express with the paths under which Nest is
 * mounted in other applications, so that no client can make a path of its own. Undefined ahead of routing.
 */
export function routeTemplate({ routeOptions, route, app, baseUrl = '' }: FoundRequest): string | undefined {
  if (routeOptions?.url !== undefined) return routeOptions.url;
  if (route === undefined) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      'byRoute() was asked in RateLimitMiddleware, which runs before Nest knows the route, so all requests there share one budget. ' +
        'Put limits by route into @RateLimit(), or leave the middleware out.',
    );
    return undefined;
  }
  const mount = mountPath(app);
  if (mount !== '' || baseUrl === '') return mount + String(route.path);
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    'byRoute() cannot tell how Nest is mounted in the application around it, so a route is one budget wherever it is mounted. ' +
      'Mount Nest with app.use of that application, not in a router or by a function, for a budget per place.',
    'mount',
  );
  return `*${String(route.path)}`;
}

/** The patterns of the applications around a request, the outermost first. */
function mountPath(app: ExpressApp | undefined): string {
  // The outermost has a path too, but stands nowhere.
  if (app?.parent === undefined) return '';
  return mountPath(app.parent) + String(app.mountpath ?? '').replace(/\/$/, '');
}
