import type { Request } from 'express';
import { listApps, enter, listLayers, findMatch, type App, type Layer } from './router-layers.ts';

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
  const [root, ...inner] = listApps(request);
  const sought = { route: request.route as unknown, apps: inner };
  return wayTo(sought, listLayers(root), request.baseUrl, request.baseUrl + request.path);
}

/** @param base - The rest of the base URL at these layers; `path` is the rest of the whole path. */
function wayTo(sought: Sought, layers: readonly Layer[], base: string, path: string): string | undefined {
  if (base === '' && sought.route !== undefined && layers.some(({ route }) => route === sought.route)) return '';
  for (const layer of layers) {
    const match = layer.route === undefined ? findMatch(layer, path) : undefined;
    if (match === undefined) continue;
    const { taken, template, inside, apps, below } = enter(layer, match, path, sought.apps);
    if (!base.startsWith(taken)) continue;
    const baseLeft = base.slice(taken.length);
    if (sought.route === undefined && baseLeft === '' && taken !== '') return template;
    const rest = inside && wayTo({ ...sought, apps }, inside, baseLeft, below);
    if (rest !== undefined) return template + rest;
  }
  return undefined;
}
