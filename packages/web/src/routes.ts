import { PolicyError } from '@sluice/core';
import { foldCase, listReadings, shown, warnOnce } from '@sluice/core/spi';

/** The parts of a `URLPattern` that tell a route. */
export interface RoutePattern {
  readonly pathname: string;
  test(input: { readonly pathname: string }): boolean;
}

/**
 * A template of paths: `/users/:id` has a parameter, `/files/*` is `/files` and all below it. Or a `URLPattern`, of
 * which the path counts.
 */
export type Route = string | RoutePattern;

type PatternClass = new (parts: { readonly pathname: string }) => RoutePattern;

/** Tells the template of a request's route. Undefined if it matches none. */
export type FindRoute = (url: string) => string | undefined;

interface Template {
  readonly text: string;
  readonly matches: (path: string) => boolean;
}

/**
 * Finds routes by the option `routes`. A path matches the first template that fits any form in which a router may read
 * it, whatever its capitals, slashes and escapes are.
 *
 * @throws PolicyError for anything but templates and patterns.
 */
export function routeFinder(option: unknown): FindRoute {
  if (option === undefined) return findNone;
  if (!Array.isArray(option) || option.length === 0) throw badRoutes('routes', option);
  const templates = option.map(parseTemplate);
  return (url) => {
    const readings = listReadings(new URL(url).pathname);
    if (readings === undefined) return undefined; // no client writes such a path by mistake
    return templates.find(({ matches }) => readings.some(matches))?.text;
  };
}

function findNone(): undefined {
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    'byRoute() is used without the option routes, so all paths share one budget. Name the templates of your routes: routes: ["/users/:id", "/login"].',
    'web',
  );
}

function parseTemplate(route: unknown, i: number): Template {
  const field = `routes[${String(i)}]`;
  if (typeof route === 'string' && route.startsWith('/')) {
    if (/\/[[{]/.test(route)) throw badRoutes(field, route); // parameters as other routers write them
    return { text: route, matches: makeMatcher(route) };
  }
  const { pathname, constructor: Pattern } = (route ?? {}) as { pathname?: unknown; constructor: PatternClass };
  // A pattern of more than a path, such as a host, matches no path by itself.
  const pattern = typeof pathname === 'string' ? new Pattern({ pathname }) : undefined;
  if (typeof pathname !== 'string' || typeof pattern?.test !== 'function') throw badRoutes(field, route);
  const matches = (path: string): boolean => pattern.test({ pathname: path });
  return { text: pathname, matches: (path) => matches(path) || matches(foldCase(path)) };
}

function badRoutes(field: string, got: unknown): PolicyError {
  const expected = field === 'routes' ? 'a list of templates such as "/users/:id"' : 'a template such as "/users/:id"';
  return new PolicyError(
    field,
    `${field} must be ${expected}, or of URLPattern, got ${shown(got)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** Capitals, and slashes at the end, do not count. */
function makeMatcher(template: string): (path: string) => boolean {
  const isOpen = template.endsWith('/*');
  const segments = foldCase(isOpen ? template.slice(0, -2) : template.replace(/\/+$/, '')).split('/');
  const fitting = segments.map((part) => (part === '*' || part.startsWith(':') ? '[^/]+' : escape(part)));
  const pattern = new RegExp(`^${fitting.join('/')}${isOpen ? '(?:/.*)?' : '/*'}$`, 's');
  return (path) => pattern.test(foldCase(path));
}

/** For a pattern that matches this text. */
function escape(text: string): string {
  return text.replaceAll(/[^\w]/g, '\\$&');
}
