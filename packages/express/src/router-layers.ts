import type { Request } from 'express';

/** What Express 4 and the router of Express 5 have in common inside: a handler and the paths it stands on. */
export interface Layer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean | undefined>> };
  readonly name: string;
  readonly handle: { readonly stack?: readonly Layer[]; readonly length: number };
  match(path: string): boolean | Match;
  /** Where Express 4, and 5 before router 2.3, leave what has matched. */
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
  enabled(setting: string): boolean;
}

/** What a layer takes of a path; undefined when it does not stand on it. */
export function matchOf(layer: Layer, path: string): Match | undefined {
  try {
    const match = layer.match(path);
    if (match === false) return undefined;
    if (match !== true) return match;
    const isRegExp = layer.matchers?.some(({ name }) => name === 'regexpMatcher') === true; // of router 2.2
    const found = { path: layer.path ?? '', params: layer.params ?? {} };
    return isRegExp ? { ...found, pattern: '(RegExp)' } : found;
  } catch {
    return undefined; // it cannot be decoded: the router passes it over too
  }
}

/**
 * What was taken, where the pattern can take nothing else; else the pattern or, of routers that do not keep it, what was
 * taken with the names of its parameters in place of their values.
 */
export function templateOf(
  taken: string,
  { params, pattern }: { params: Match['params']; pattern?: unknown },
  caseSensitive: boolean,
): string {
  const written = caseSensitive ? taken : taken.toLowerCase();
  if (pattern !== undefined) return isPlain(pattern) ? written : (pattern as RegExp).toString();
  const names = Object.keys(params);
  if (names.length === 0) return written;
  const values = taken.split('/').map(decoded);
  const parts = written.split('/');
  // From the end, for parameters follow the parts that name them: /tenants/:id of /tenants/tenants.
  for (const [name, value] of Object.entries(params).toReversed()) {
    for (const one of [value].flat().toReversed()) {
      const at = values.lastIndexOf(one as string);
      // A value that is no part of its own (`/v:version`) must not stay: the client chose it.
      if (at === -1) return `/:${names.join('/:')}`;
      parts[at] = `:${name}`;
      values[at] = '';
    }
  }
  return parts.join('/');
}

/** Whether a pattern is a text that stands for itself: as it is written, or as Express 4 compiles it. */
function isPlain(pattern: unknown): boolean {
  return pattern instanceof RegExp
    ? /^\^(?:\\[/.]|[\w~!@&=,;%-])*\\\/\?\(\?=\\\/\|\$\)$/.test(pattern.source)
    : typeof pattern === 'string' && !/[{}()[\]*+?!:\\]/.test(pattern);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The applications around a request, from the outermost to the one that handles it now. */
export function appsOf(request: Request): readonly [App, ...App[]] {
  const apps: App[] = [];
  for (let app = request.app as unknown as App | undefined; app !== undefined; app = app.parent) apps.unshift(app);
  return apps as [App, ...App[]];
}

/** What is left of a path after a layer took its part. */
export function below(path: string, match: Match): string {
  const left = path.slice(match.path.length);
  return left.startsWith('/') ? left : `/${left}`;
}

export function layersOf(app: App): readonly Layer[] {
  return (app._router ?? app.router)?.stack ?? []; // Express 4 throws at `router`
}

/**
 * The pattern that a layer stands on, where it can be known. An application knows only where it was mounted last, so its
 * word holds where the layer's own says no more than that it is a pattern.
 */
export function patternOf(layer: Layer, app: App | undefined, match: Match): unknown {
  if (match.pattern !== undefined) return match.pattern;
  const mountpath: unknown = app?.mountpath;
  const written = Array.isArray(mountpath) ? mountpath.map(String).join(',') : mountpath;
  if (layer.regexp === undefined) return Object.keys(match.params).length > 0 ? undefined : written;
  return written === undefined || isPlain(written) || isPlain(layer.regexp) ? layer.regexp : written;
}
