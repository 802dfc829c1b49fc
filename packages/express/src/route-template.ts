import { warnOnce } from '@sluice/core/spi';
import type { Request } from 'express';
import { mountPath } from './mount-path.ts';
import { listApps, enter, listLayers, findMatch, type App, type Layer } from './router-layers.ts';

/** The layers that a request reaches on its path through the routers, in order. */
type Step =
  | { readonly meets: 'self' }
  | { readonly meets: 'route'; readonly template: string; readonly methods: Readonly<Record<string, unknown>> }
  /**
   * A function on a path of its own, which may respond for all paths below, or an application whose routes are
   * hidden.
   */
  | { readonly meets: 'handler' | 'application'; readonly template: string };

/**
 * The template of a request's route with its mount paths, as written in the application. In `app.use`, where no route
 * has matched yet, it is the first route behind the middleware that matches the path. Undefined if there is none.
 *
 * @param self - The limiting middleware.
 */
export function routeTemplate(request: Request, self: unknown): string | undefined {
  const { route } = request as { route?: Route };
  if (route === undefined || isPast(route, request, self)) return upcoming(request, self);
  return (mountPath(request) ?? unknownMount()) + String(route.path) || '/';
}

/** The placeholder of an unknown mount path. Never the path of the URL, which has many spellings. */
function unknownMount(): string {
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    'byRoute() did not find where its application is mounted, so all its mount paths share one budget. Mount applications with app.use, not router.use.',
  );
  return '*';
}

interface Route {
  readonly path: string | RegExp | readonly unknown[];
  readonly stack?: readonly { readonly handle: unknown }[];
}

/** Whether the middleware runs after the route: Express keeps `request.route` when the route calls `next`. */
function isPast({ stack = [] }: Route, request: Request, self: unknown): boolean {
  if (self === undefined || stack.some(({ handle }) => handle === self)) return false;
  const [root, ...apps] = listApps(request);
  const way = { apps, self };
  for (const { meets } of stepsThrough(way, listLayers(root), request.baseUrl + request.path, '')) {
    if (meets === 'self') return true;
  }
  return false;
}

function upcoming(request: Request, self: unknown): string | undefined {
  const [root, ...inner] = listApps(request);
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
  let found: Step | undefined;
  // A route of another method, because a later middleware may still change the request's method; or else a handler.
  let otherwise: Step | undefined;
  let hasPassed = false;
  for (const step of stepsThrough({ apps: inner, self }, listLayers(root), request.baseUrl + request.path, '')) {
    if (step.meets === 'self') {
      [found, otherwise, hasPassed] = [undefined, undefined, true];
    } else if (step.meets === 'application' || (step.meets === 'route' && handles(step.methods, method))) {
      found ??= step;
      if (hasPassed) break;
    } else if (otherwise === undefined || (step.meets === 'route' && otherwise.meets !== 'route')) {
      otherwise = step;
    }
  }
  const step = found ?? otherwise;
  if (step === undefined || step.meets === 'self') {
    return request.baseUrl !== '' && mountPath(request) === undefined ? unknownMount() : undefined;
  }
  if (step.meets !== 'route') {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      `byRoute() is used in app.use, and ${step.template || '/'} has a function or an application whose routes are hidden: all paths below share one budget. ` +
        'For a budget per route, put the limiter on the routes themselves, or into that application.',
      step.template,
    );
  }
  return step.template || '/';
}

interface Way {
  /** The applications that the request has entered, the next one first. */
  readonly apps: readonly App[];
  readonly self: unknown;
}

function* stepsThrough(way: Way, layers: readonly Layer[], path: string, above: string): Generator<Step> {
  for (const layer of layers) {
    const match = findMatch(layer, path);
    if (match === undefined) continue;
    if (layer.handle === way.self) {
      yield { meets: 'self' };
      continue;
    }
    if (layer.route !== undefined) {
      yield { meets: 'route', template: above + String(layer.route.path), methods: layer.route.methods };
      continue;
    }
    const { taken, template: own, inside, apps, below } = enter(layer, match, path, way.apps);
    const template = above + own;
    if (inside !== undefined) yield* stepsThrough({ ...way, apps }, inside, below, template);
    else if (layer.name === 'mounted_app') yield { meets: 'application', template };
    else if (taken !== '' && layer.handle.length < 4) yield { meets: 'handler', template };
  }
}

function handles(methods: Readonly<Record<string, unknown>>, method: string): boolean {
  return methods['_all'] === true || methods[method] === true || (method === 'get' && methods['head'] === true);
}
