import type { Request } from 'express';
import { appsOf, below, layersOf, matchOf, patternOf, templateOf, type App, type Layer } from './router-layers.ts';

/** What is looked for: the route that has matched or, before one has, the place where the middleware is mounted. */
interface Sought {
  readonly route: unknown;
  /** The applications around the request that are left to enter, the next one first. */
  readonly apps: readonly App[];
  readonly caseSensitive: boolean;
}

/**
 * The path under which the request's router is mounted, as it is written in the application: `/tenants/:id` for
 * `/tenants/42`, so that no client can make a path of its own. Undefined where the routers do not lead there.
 *
 * Express does not keep it, so the request's way through the routers is gone once more.
 */
export function mountPath(request: Request): string | undefined {
  if (request.baseUrl === '') return '';
  const [root, ...inner] = appsOf(request);
  const sought = {
    route: request.route as unknown,
    apps: inner,
    caseSensitive: root.enabled('case sensitive routing'),
  };
  return wayTo(sought, layersOf(root), request.baseUrl, request.baseUrl + request.path);
}

/** @param base - What is left of the base URL, and of the whole path, at these layers. */
function wayTo(sought: Sought, layers: readonly Layer[], base: string, path: string): string | undefined {
  if (base === '' && sought.route !== undefined && layers.some(({ route }) => route === sought.route)) return '';
  for (const layer of layers) {
    const match = layer.route === undefined ? matchOf(layer, path) : undefined;
    if (match === undefined) continue;
    const taken = match.path.replace(/\/$/, '');
    if (!base.startsWith(taken)) continue;
    const [app] = layer.name === 'mounted_app' ? sought.apps : [];
    const own = templateOf(taken, { ...match, pattern: patternOf(layer, app, match) }, sought.caseSensitive);
    const baseLeft = base.slice(taken.length);
    if (sought.route === undefined && baseLeft === '' && taken !== '') return own;

    const inside = app === undefined ? layer.handle.stack : layersOf(app);
    if (inside === undefined) continue;
    const soughtInside = app === undefined ? sought : { ...sought, apps: sought.apps.slice(1) };
    const rest = wayTo(soughtInside, inside, baseLeft, below(path, match));
    if (rest !== undefined) return own + rest;
  }
  return undefined;
}
