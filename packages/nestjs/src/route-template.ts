import { Reflector } from '@nestjs/core';
import { warnOnce } from '@sluice/core/spi';
import type { ExpressApp, FoundRequest } from './nest-types.ts';

/** The routes of requests for handlers with several paths. */
const commonRoutes = new WeakMap<object, string>();

/** Sets the route of a request: see {@link readCommonRoute}. */
export function setRoute(request: object, route: string): void {
  commonRoutes.set(request, route);
}

/**
 * The template of a request's route, as written in the application. With Express it includes the paths where Nest is
 * mounted in other applications, so that clients cannot create paths. Undefined before routing.
 */
export function routeTemplate(request: FoundRequest): string | undefined {
  const { routeOptions, route, app, baseUrl = '' } = request;
  const common = commonRoutes.get(request);
  if (common !== undefined) return common;
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

/** Where Nest stores the arguments of its decorators of paths and versions. */
const PATH = 'path';
const VERSION = '__version__';
const reflector = new Reflector();

/**
 * One route for all paths of a handler, as other frameworks have for a list of paths: Nest registers a route for each
 * path and each version in the path, with which a client would have that many budgets. Undefined for a handler with one.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
export function readCommonRoute(type: Function, handler: Function): string | undefined {
  const [outer = [''], inner = [''], version = ['']] = [
    readList(reflector.get(PATH, type)),
    readList(reflector.get(PATH, handler)),
    readList(reflector.get(VERSION, handler) ?? reflector.get(VERSION, type)),
  ];
  if (outer.length * inner.length * version.length === 1) return undefined;
  const paths = outer.flatMap((before) =>
    inner.map((path) => `/${before}/${path}`.replaceAll(/\/+/g, '/').replace(/(.)\/$/, '$1')),
  );
  return `${paths.join()}${version.length === 1 ? '' : `@${version.join()}`}`;
}

function readList(value: unknown): readonly string[] | undefined {
  return value === undefined ? undefined : [value].flat().map(String);
}
