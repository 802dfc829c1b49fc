import type { Request } from 'express';

/** What Express 4 and the router of Express 5 have in common inside: a handler and the paths it stands on. */
interface Layer {
  readonly route?: unknown;
  readonly name: string;
  readonly handle: { readonly stack?: readonly Layer[] };
  match(path: string): boolean | Match;
  /** Where Express 4, and 5 before router 2.3, leave what has matched. */
  readonly path?: string;
  readonly params?: Match['params'];
  readonly regexp?: RegExp;
}

interface Match {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pattern?: string | RegExp;
}

interface App {
  readonly _router?: { readonly stack: readonly Layer[] };
  readonly router?: { readonly stack: readonly Layer[] };
  readonly parent?: App;
  readonly mountpath?: string | readonly string[];
  enabled(setting: string): boolean;
}

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
  const apps: App[] = [];
  for (let app = request.app as unknown as App | undefined; app !== undefined; app = app.parent) apps.unshift(app);
  const [root, ...inner] = apps as [App, ...App[]];
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
    const own = templateOf(
      taken,
      { pattern: app?.mountpath?.toString() ?? layer.regexp, ...match },
      sought.caseSensitive,
    );
    const baseLeft = base.slice(taken.length);
    if (sought.route === undefined && baseLeft === '' && taken !== '') return own;

    const inside = app === undefined ? layer.handle.stack : layersOf(app);
    if (inside === undefined) continue;
    const pathLeft = path.slice(match.path.length);
    const below = app === undefined ? sought : { ...sought, apps: sought.apps.slice(1) };
    const rest = wayTo(below, inside, baseLeft, pathLeft.startsWith('/') ? pathLeft : `/${pathLeft}`);
    if (rest !== undefined) return own + rest;
  }
  return undefined;
}

function matchOf(layer: Layer, path: string): Match | undefined {
  try {
    const match = layer.match(path);
    if (match === false) return undefined;
    return match === true ? { path: layer.path ?? '', params: layer.params ?? {} } : match;
  } catch {
    return undefined; // it cannot be decoded: the router passes it over too
  }
}

/** What was taken, where the pattern can take nothing else; else the pattern, or at least the names of its parameters. */
function templateOf(
  taken: string,
  { params, pattern }: { params: Match['params']; pattern?: string | RegExp | undefined },
  caseSensitive: boolean,
): string {
  const names = Object.keys(params);
  const written = pattern instanceof RegExp ? pattern.source.endsWith('(?=\\/|$)') : true; // as Express 4 compiles a text
  // The router finds /API and /api alike unless told otherwise, so they are one.
  if (names.length === 0 && written) return caseSensitive ? taken : taken.toLowerCase();
  return pattern === undefined ? `/:${names.join('/:')}` : String(pattern);
}

function layersOf(app: App): readonly Layer[] {
  return (app._router ?? app.router)?.stack ?? []; // Express 4 throws at `router`
}
