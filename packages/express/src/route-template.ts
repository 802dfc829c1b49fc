import { warnOnce } from '@sluice/core/spi';
import type { Request } from 'express';
import { listApps, enter, listLayers, findMatch, type App, type Layer } from './router-layers.ts';

/** The layers that a request reaches on its path through the routers, in order. */
type Step =
  /** The rest of the path, as the middleware sees it. */
  | { readonly meets: 'self'; readonly below: string }
  | { readonly meets: 'route'; readonly template: string; readonly route: NonNullable<Layer['route']> }
  /**
   * A function on its own path, which may respond for all paths below it, or an application whose routes are hidden.
   */
  | { readonly meets: 'handler' | 'application'; readonly template: string };

interface Route {
  readonly path: string | RegExp | readonly unknown[];
  readonly stack?: readonly { readonly handle: unknown }[];
}

/**
 * The template of a request's route with its mount paths, as written in the application. In `app.use`, where no route
 * has matched yet, it is the first route after the middleware that matches the path. Undefined if there is none.
 *
 * Express does not store this path, so the request's path through the routers is traced again.
 *
 * @param self - The limiting middleware.
 */
export function routeTemplate(request: Request, self: unknown): string | undefined {
  const { route: matched } = request as { route?: Route };
  const isIn = self === undefined || matched?.stack?.some(({ handle }) => handle === self) === true;
  if (matched !== undefined && isIn && request.baseUrl === '') return String(matched.path) || '/';
  const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
  let own: string | undefined;
  let found: Step | undefined;
  // A route of another method, because later middleware may still change the request's method; otherwise a handler.
  let otherwise: Step | undefined;
  let hasPassed = false;
  for (const step of trace(request, isIn ? undefined : self)) {
    if (step.meets === 'self') {
      if (step.below !== request.path) continue; // it stands elsewhere too
      // Express keeps the route of a request when the route calls `next`.
      [own, found, otherwise, hasPassed] = [undefined, undefined, undefined, true];
    } else if (step.meets === 'route' && step.route === matched && !hasPassed) {
      own = step.template;
      if (isIn) break;
    } else if (step.meets === 'application' || (step.meets === 'route' && handles(step.route.methods, method))) {
      found ??= step;
    } else if (otherwise === undefined || (step.meets === 'route' && otherwise.meets !== 'route')) {
      otherwise = step;
    }
  }
  if (matched !== undefined && !hasPassed) return (own ?? getUnknownMount() + String(matched.path)) || '/';
  const step = found ?? otherwise;
  if (step === undefined || step.meets === 'self')
    return request.baseUrl === '' || hasPassed ? undefined : getUnknownMount();
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

/** The placeholder of an unknown mount path. Never the URL's path, which can be spelled in many ways. */
function getUnknownMount(): string {
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    'byRoute() did not find where its application is mounted, so all its mount paths share one budget. Mount applications with app.use, not router.use.',
  );
  return '*';
}

interface Way {
  /** The applications that the request has entered, next one first. */
  readonly apps: readonly App[];
  readonly self: unknown;
}

function trace(request: Request, self: unknown): Generator<Step> {
  const [root, ...apps] = listApps(request);
  return listSteps({ apps, self }, listLayers(root), request.baseUrl + request.path, '');
}

function* listSteps(way: Way, layers: readonly Layer[], path: string, above: string): Generator<Step> {
  for (const layer of layers) {
    const match = findMatch(layer, path);
    if (match === undefined) continue;
    if (layer.handle === way.self) {
      yield { meets: 'self', below: enter(layer, match, path, way.apps).below };
      continue;
    }
    if (layer.route !== undefined) {
      yield { meets: 'route', template: above + String(layer.route.path), route: layer.route };
      continue;
    }
    const { taken, template: own, inside, apps, below } = enter(layer, match, path, way.apps);
    const template = above + own;
    if (inside !== undefined) yield* listSteps({ ...way, apps }, inside, below, template);
    else if (layer.name === 'mounted_app') yield { meets: 'application', template };
    else if (taken !== '' && layer.handle.length < 4) yield { meets: 'handler', template };
  }
}

function handles(methods: Readonly<Record<string, unknown>>, method: string): boolean {
  return methods['_all'] === true || methods[method] === true || (method === 'get' && methods['head'] === true);
}
