import { Reflector } from '@nestjs/core';

// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
type Target = Function;

/** Where Nest stores the arguments of its decorators of paths and versions. */
const PATH = 'path';
const VERSION = '__version__';
const reflector = new Reflector();

/**
 * Makes one route of all paths of a handler, as other frameworks do for a list of paths: Nest registers a route for
 * each path and each version in the path. Undefined for a handler with one path.
 *
 * @returns From the template of the matched route to the one that all of them share.
 */
export function commonRoute(type: Target, handler: Target): ((template: string) => string) | undefined {
  const paths = listAt(PATH, type).flatMap((outer) => listAt(PATH, handler).map((inner) => joined(outer, inner)));
  const versions = listAt(VERSION, reflector.get<unknown>(VERSION, handler) === undefined ? type : handler);
  if (paths.length < 2 && versions.length < 2) return undefined;
  const longestFirst = paths.toSorted((one, other) => other.length - one.length);
  const ofVersions = versions.length < 2 ? '' : `/{${versions.map(versionText).join(',')}}`;
  return (template) => {
    const path = longestFirst.find((end) => template.endsWith(end)) ?? '';
    const around = template.slice(0, template.length - path.length).split('/');
    // The rest is the same for all paths: a global prefix, the path of a module, where Nest is mounted.
    const prefix = versions.length < 2 ? around : around.filter((segment) => !endsWithVersion(segment, versions));
    return prefix.join('/') + ofVersions + paths.join(',');
  };
}

function listAt(key: string, target: Target): readonly unknown[] {
  const found = reflector.get<unknown>(key, target);
  return Array.isArray(found) ? found : [found];
}

function joined(...parts: readonly unknown[]): string {
  const segments = parts.flatMap((part) => (typeof part === 'string' ? part.split('/') : []));
  return `/${segments.filter((segment) => segment !== '').join('/')}`;
}

/** A version; empty for `VERSION_NEUTRAL`, which is no text. */
function versionText(version: unknown): string {
  return typeof version === 'string' ? version : '';
}

function endsWithVersion(segment: string, versions: readonly unknown[]): boolean {
  return versions.some((version) => versionText(version) !== '' && segment.endsWith(versionText(version)));
}
