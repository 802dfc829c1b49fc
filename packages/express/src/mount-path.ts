import type { Request } from 'express';
import {
  appsOf,
  below,
  layersOf,
  matchOf,
  patternOf,
  templateOf,
  writtenAs,
  type App,
  type Layer,
} from './router-layers.ts';

/** The target: the matched route or, before a match, the place where the middleware is mounted. */
interface Sought {
  readonly route: unknown;
  /** The applications around the request that are still to be entered, the next one first. */
  readonly apps: readonly App[];
}

/**
 * The path where the request's router is mounted, as written in the application: `/tenants/:id` for `/tenants/42`, so
 * that clients cannot create paths. Undefined if no path through the routers leads to it.
 *
 * Express does not store this path, so the request's path through the routers is traced again.
 */
export function mountPath(request: Request): string | undefined {
  if (request.baseUrl === '') return '';
  const [root, ...inner] = appsOf(request);
  const sought = { route: request.route as unknown, apps: inner };
  return wayTo(sought, layersOf(root), request.baseUrl, request.baseUrl + request.path);
}

/** @param base - The rest of the base URL at these layers; `path` is the rest of the whole path. */
function wayTo(sought: Sought, layers: readonly Layer[], base: string, path: string): string | undefined {
  if (base === '' && sought.route !== undefined && layers.some(({ route }) => route === sought.route)) return '';
  for (const layer of layers) {
    const match = layer.route === undefined ? matchOf(layer, path) : undefined;
    if (match === undefined) continue;
    const matched = match.path.replace(/\/$/, '');
    if (!base.startsWith(matched)) continue;
    const [app] = layer.name === 'mounted_app' ? sought.apps : [];
    const pattern = patternOf(layer, app, match);
    const own = templateOf(matched, { ...match, pattern }, writtenAs(layer, path, matched));
    const baseLeft = base.slice(matched.length);
    if (sought.route === undefined && baseLeft === '' && matched !== '') return own;

    const inside = app === undefined ? layer.handle.stack : layersOf(app);
    if (inside === undefined) continue;
    const soughtInside = app === undefined ? sought : { ...sought, apps: sought.apps.slice(1) };
    const rest = wayTo(soughtInside, inside, baseLeft, below(path, match));
    if (rest !== undefined) return own + rest;
  }
  return undefined;
}
