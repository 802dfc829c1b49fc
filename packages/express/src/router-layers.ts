import type { Request } from 'express';

/** The common internals of Express 4 and the router of Express 5: a handler and its paths. */
export interface Layer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean | undefined>> };
  readonly name: string;
  readonly handle: { readonly stack?: readonly Layer[]; readonly length: number };
  match(path: string): boolean | Match;
  /** The matched part, in Express 4 and in Express 5 before router 2.3. */
  readonly path?: string;
  readonly params?: Match['params'];
  readonly regexp?: RegExp;
  readonly matchers?: readonly { readonly name: string }[];
}

export interface Match {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pattern?: unknown;
}

export interface App {
  readonly _router?: { readonly stack: readonly Layer[] };
  readonly router?: { readonly stack: readonly Layer[] };
  readonly parent?: App;
  readonly mountpath?: string | readonly string[];
}

/** A layer that a request enters. */
interface Entered {
  /** The matched part of the path, and the rest of it. */
  readonly taken: string;
  readonly below: string;
  readonly template: string;
  /** Undefined for a function, and for an application that the request does not enter. */
  readonly inside: readonly Layer[] | undefined;
  /** The applications still to be entered. */
  readonly apps: readonly App[];
}

/** @param apps - The applications around the request that are still to be entered, next one first. */
export function enter(layer: Layer, match: Match, path: string, apps: readonly App[]): Entered {
  const taken = match.path.replace(/\/$/, '');
  const rest = path.slice(match.path.length);
  const [app] = layer.name === 'mounted_app' ? apps : [];
  const pattern = readPattern(layer, app, match);
  return {
    taken,
    below: rest.startsWith('/') ? rest : `/${rest}`,
    template: taken === '' ? '' : findTemplate(pattern, match.params, findSpelling(layer, path, taken)),
    inside: app === undefined ? layer.handle.stack : listLayers(app),
    apps: app === undefined ? apps : apps.slice(1),
  };
}

/** The part of a path that a layer matches; undefined if it does not match. */
export function findMatch(layer: Layer, path: string): Match | undefined {
  try {
    const match = layer.match(path);
    if (match === false) return undefined;
    if (match !== true) return match;
    const isRegExp = layer.matchers?.some(({ name }) => name === 'regexpMatcher') === true; // of router 2.2
    const found = { path: layer.path ?? '', params: layer.params ?? {} };
    return isRegExp ? { ...found, pattern: '(RegExp)' } : found;
  } catch {
    return undefined; // a path that cannot be decoded: the router skips the layer too
  }
}

/**
 * The matched part, normalized: in lower case, unless the layer is case-sensitive. Each router has its own option for
 * this, so the layer is asked.
 */
function findSpelling(layer: Layer, path: string, taken: string): string {
  const small = taken.toLowerCase();
  return small === taken || findMatch(layer, path.toLowerCase()) === undefined ? taken : small;
}

/**
 * The matched part, if the pattern matches nothing else. Otherwise the pattern or, for routers before 2.3, which do not
 * store it, the names of its parameters. Their values must not remain, because the client chose them.
 *
 * @param written - The matched part, by {@link findSpelling}.
 */
function findTemplate(pattern: unknown, params: Match['params'], written: string): string {
  if (pattern !== undefined) return isPlain(pattern) ? written : (pattern as RegExp).toString();
  const names = Object.keys(params);
  return names.length === 0 ? written : `/:${names.join('/:')}`;
}

/** Whether a pattern matches only itself: as written, or as Express 4 compiles it. */
function isPlain(pattern: unknown): boolean {
  return pattern instanceof RegExp
    ? /^\^(?:\\[/.]|[\w~!@&=,;%-])*\\\/\?\(\?=\\\/\|\$\)$/.test(pattern.source)
    : typeof pattern === 'string' && !/[{}()[\]*+?!:\\]/.test(pattern);
}

/** The applications around a request, from the outermost to the one that handles it now. */
export function listApps(request: Request): readonly [App, ...App[]] {
  const apps: App[] = [];
  for (let app = request.app as unknown as App | undefined; app !== undefined; app = app.parent) apps.unshift(app);
  return apps as [App, ...App[]];
}

export function listLayers(app: App): readonly Layer[] {
  return (app._router ?? app.router)?.stack ?? []; // Express 4 throws at `router`
}

/**
 * The pattern of a layer, if known. An application knows only its last mount path, so that path is used only when the
 * layer itself does not store its pattern.
 */
function readPattern(layer: Layer, app: App | undefined, match: Match): unknown {
  if (match.pattern !== undefined) return match.pattern;
  const mountpath: unknown = app?.mountpath;
  const written = Array.isArray(mountpath) ? mountpath.map(String).join(',') : mountpath;
  if (layer.regexp === undefined) return Object.keys(match.params).length > 0 ? undefined : written;
  return written === undefined || isPlain(written) || isPlain(layer.regexp) ? layer.regexp : written;
}
