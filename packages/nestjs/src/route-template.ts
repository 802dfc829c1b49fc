import { warnOnce } from '@sluice/old-core/spi';
import type { ExpressApp, FoundRequest } from './nest-request.ts';

/**
 * The template of a request's route, as written in the application. With Express it includes the paths where Nest is
 * mounted in other applications, so that clients cannot create paths. Undefined before routing.
 */
export function routeTemplate({ routeOptions, route, app, baseUrl = '' }: FoundRequest): string | undefined {
  if (routeOptions?.url !== undefined) return routeOptions.url;
  if (route === undefined) return undefined;
  const mount = mountPath(app);
  if (mount !== '' || baseUrl === '') return mount + String(route.path);
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    'byRoute() cannot find where Nest is mounted in the surrounding application, so all mount paths of a route share one budget. ' +
      'For a budget per mount path, mount Nest with app.use of that application, not in a router or a function.',
    'mount',
  );
  return `*${String(route.path)}`;
}

/** The patterns of the applications around a request, the outermost first. */
function mountPath(app: ExpressApp | undefined): string {
  // The outermost application has a mountpath too, but is not mounted.
  if (app?.parent === undefined) return '';
  return mountPath(app.parent) + String(app.mountpath ?? '').replace(/\/$/, '');
}
