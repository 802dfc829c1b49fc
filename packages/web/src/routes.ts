import { PolicyError } from '@sluice/core';
import { foldCase, listReadings, shown, warnOnce } from '@sluice/core/spi';

/** Returns the template of a request's route; undefined if it matches none. */
export type FindRoute = (url: string) => string | undefined;

interface Template {
  readonly text: string;
  readonly matches: (path: string) => boolean;
}

/**
 * Finds routes by the option `routes`: `/users/:id` has a parameter, `/files/*` is `/files` and all paths below it. A
 * path matches the first template that fits any form in which a router may read it, regardless of case, slashes and
 * escapes.
 *
 * @throws PolicyError for anything but templates.
 */
export function makeFindRoute(option: unknown): FindRoute {
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
  // Rejects parameters in the syntax of other routers.
  const isTemplate = typeof route === 'string' && route.startsWith('/') && !/\/[[{]/.test(route);
  if (!isTemplate) throw badRoutes(`routes[${String(i)}]`, route);
  return { text: route, matches: makeMatcher(route) };
}

function badRoutes(field: string, got: unknown): PolicyError {
  const expected = field === 'routes' ? 'a list of templates such as "/users/:id"' : 'a template such as "/users/:id"';
  return new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
}

/** Ignores case and trailing slashes. */
function makeMatcher(template: string): (path: string) => boolean {
  const isOpen = template.endsWith('/*');
  const segments = foldCase(isOpen ? template.slice(0, -2) : template.replace(/\/+$/, '')).split('/');
  const fitting = segments.map((part) => (part === '*' || part.startsWith(':') ? '[^/]+' : escape(part)));
  const pattern = new RegExp(`^${fitting.join('/')}${isOpen ? '(?:/.*)?' : '/*'}$`, 's');
  return (path) => pattern.test(foldCase(path));
}

/** Escapes a text for use in a pattern. */
function escape(text: string): string {
  return text.replaceAll(/[^\w]/g, '\\$&');
}
