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
}

export interface Match {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pattern?: string | RegExp;
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
    return match === true ? { path: layer.path ?? '', params: layer.params ?? {} } : match;
  } catch {
    return undefined; // it cannot be decoded: the router passes it over too
  }
}

/** What was taken, where the pattern can take nothing else; else the pattern, or at least the names of its parameters. */
export function templateOf(
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
