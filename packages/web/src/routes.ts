import { PolicyError } from '@sluice/old-core';
import { foldCase, readingsOf } from '@sluice/old-http/spi';
import { warnOnce } from '@sluice/old-core/spi';
import { kindOf } from './kind-of.ts';

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

/** Tells the template of a request's route. Undefined if it matches none. */
export type FindRoute = (url: string) => string | undefined;

/**
 * Hosts that have a budget of their own where no routes are known. Further ones share one, because clients invent
 * names.
 */
const MOST_HOSTS = 100;

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
  if (option === undefined) return hostFinder();
  if (!Array.isArray(option) || option.length === 0) throw badRoutes('routes', option);
  const templates = option.map(templateOf);
  return (url) => {
    const path = pathOf(url);
    const readings = readingsOf(path);
    if (readings === undefined) return undefined; // no client writes such a path by mistake
    return templates.find(({ matches }) => readings.some(matches))?.text;
  };
}

function templateOf(route: unknown, i: number): Template {
  const field = `routes[${String(i)}]`;
  if (typeof route === 'string' && route.startsWith('/')) {
    if (/\/[[{]/.test(route)) throw badRoutes(field, route); // parameters as other routers write them
    return { text: route, matches: matcherOf(route) };
  }
  const { pathname, test } = (route ?? {}) as Partial<RoutePattern>;
  if (typeof pathname !== 'string' || typeof test !== 'function') throw badRoutes(field, route);
  const pattern = ofPathAlone(route as RoutePattern);
  const matches = (path: string): boolean => pattern.test({ pathname: path });
  return { text: pathname, matches: (path) => matches(path) || matches(foldCase(path)) };
}

/** A pattern that was made of more than a path, such as a host, matches no path by itself. */
function ofPathAlone(pattern: RoutePattern): RoutePattern {
  const { pathname, hostname = '*', protocol = '*', search = '*' } = pattern as RoutePattern & Record<string, string>;
  if (hostname === '*' && protocol === '*' && search === '*') return pattern;
  const Pattern = pattern.constructor as new (parts: { readonly pathname: string }) => RoutePattern;
  return new Pattern({ pathname });
}

function badRoutes(field: string, got: unknown): PolicyError {
  return new PolicyError(
    field,
    `${field} must be ${field === 'routes' ? 'a list of templates' : 'a template'} such as "/users/:id", or of URLPattern, got ${typeof got === 'string' ? JSON.stringify(got) : kindOf(got)}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** Compares segment by segment. Capitals, and slashes at the end, do not count. */
function matcherOf(template: string): (path: string) => boolean {
  const parts = segmentsOf(foldCase(template));
  const isOpen = parts.at(-1) === '*';
  if (isOpen) parts.pop();
  const fits = (part: string, segment: string): boolean =>
    part === '*' || part.startsWith(':') ? segment !== '' : part === segment;
  return (path) => {
    const segments = segmentsOf(foldCase(path));
    const isLong = isOpen ? segments.length >= parts.length : segments.length === parts.length;
    return isLong && parts.every((part, i) => fits(part, segments[i] as string));
  };
}

function segmentsOf(path: string): string[] {
  const segments = path.split('/').slice(1);
  while (segments.at(-1) === '') segments.pop();
  return segments;
}

/** The path of a URL without its query. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  if (start === -1) return '/';
  const query = url.indexOf('?', start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

/** Without templates: one route for each host. */
function hostFinder(): FindRoute {
  const hosts = new Set<string>();
  return (url) => {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      'byRoute() is used without the option routes, so all paths of a host share one budget. Name the templates of your routes: routes: ["/users/:id", "/login"].',
      'web',
    );
    const host = hostOf(url);
    if (hosts.has(host)) return host;
    if (hosts.size >= MOST_HOSTS) return '*';
    hosts.add(host);
    return host;
  };
}

function hostOf(url: string): string {
  const start = url.indexOf('://') + 3;
  const end = url.indexOf('/', start);
  return `//${(end === -1 ? url.slice(start) : url.slice(start, end)).toLowerCase()}`;
}
