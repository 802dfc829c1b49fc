import { Reflector } from '@nestjs/core';
import type { FoundRequest } from './nest-types.ts';

/** The routes of requests for handlers with several paths. */
const commonRoutes = new WeakMap<object, string>();

/** Sets the route of a request: see {@link readCommonRoute}. */
export function setRoute(request: object, route: string): void {
  commonRoutes.set(request, route);
}

/**
 * The template of a request's route, as written in the Nest application, wherever that is mounted: clients cannot
 * create paths. Undefined before routing.
 */
export function routeTemplate(request: FoundRequest): string | undefined {
  const { routeOptions, route } = request;
  return commonRoutes.get(request) ?? routeOptions?.url ?? (route && String(route.path));
}

/** Where Nest stores the arguments of its decorators for paths and versions. */
const PATH = 'path';
const VERSION = '__version__';
const reflector = new Reflector();

/**
 * One route for all paths of a handler, as other frameworks have for a list of paths: Nest registers a route for each
 * path and each version in the path, so a client would have that many budgets. Undefined for a handler with one path.
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
