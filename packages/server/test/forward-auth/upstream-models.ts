import { posix } from 'node:path';

/**
 * How an upstream gets from the target of a request to the path that it compares with its routes. Undefined: it answers
 * 400.
 */
export type UpstreamModel = (target: string) => string | undefined;

/** Written by what those programs do, with means other than those of the service. */
export const upstreams: Readonly<Record<string, UpstreamModel>> = {
  'Express: as written': withoutQuery,
  'new URL()': urlPath,
  'new URL(), decoded': (target) => andThen(urlPath(target), decoded),
  'Fastify: decoded, but slashes': (target) =>
    decoded(
      withoutQuery(target)
        .replaceAll(/%2f/gi, '%252f')
        .replaceAll(/%25(?!2f)/gi, '%25'),
    ),
  'Fastify with useSemicolonDelimiter': (target) => decoded(withoutQuery(target).split(';')[0] as string),
  'a pattern that ends with $, which also matches before a line end': (target) =>
    decoded(withoutQuery(target))?.replace(/\n$/, ''),
  'C: up to the first line end': (target) => decoded(withoutQuery(target))?.split(/[\r\n]/)[0],
  'without control characters': (target) => decoded(withoutQuery(target))?.replaceAll(/\p{Cc}/gu, ''),
  'Go: decoded, then cleaned': (target) => andThen(decoded(withoutQuery(target)), posix.normalize),
  'a servlet: without parameters, decoded, cleaned': (target) =>
    andThen(decoded(withoutParameters(withoutQuery(target))), posix.normalize),
  'a servlet that decodes first': (target) => andThen(decoded(withoutQuery(target)), withoutParameters),
  'decoded twice': (target) => andThen(andThen(decoded(withoutQuery(target)), decoded), posix.normalize),
  'Windows: backslashes, ends of names': (target) =>
    andThen(decoded(withoutQuery(target)), (path) =>
      posix
        .normalize(path.replaceAll('\\', '/'))
        .split('/')
        .map((name) => name.replace(/[. ]+$/, ''))
        .join('/'),
    ),
  'C: up to the first NUL': (target) => decoded(withoutQuery(target))?.split('\0')[0],
  'without a fragment': (target) => withoutQuery(target).split('#')[0],
};

function andThen(path: string | undefined, step: (path: string) => string | undefined): string | undefined {
  return path === undefined ? undefined : step(path);
}

function withoutParameters(path: string): string {
  const names = path.split('/').map((segment) => segment.split(';')[0]);
  return names.join('/');
}

function urlPath(target: string): string | undefined {
  try {
    return new URL(target, 'http://upstream').pathname;
  } catch {
    return undefined;
  }
}

function withoutQuery(target: string): string {
  return target.split('?')[0] as string;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Pieces of which targets are made that upstreams may read as other paths. */
export const PIECES = [
  ...['/', '/', '/', '//', '///host', '/', '\\', '%2f', '%2F', '%5c', '%255c', '%252f'],
  ...['login', 'LOGIN', 'Login', '%6cogin', '%6Cogin', '%256cogin', 'static', 'STATIC', 'st%61tic', 'a', 'host'],
  ...['.', '..', '/..', '/../', '/./', '%2e', '%2E%2e', '.%2e', '%252e%252e'],
  ...[';a=1', ';', '%3b', '..;', ';/', ';/~', '%20', '%00', '%0a', '%0D%0a', '%09', '%', '%zz'],
  ...['#', '%23', '%3f', '?', '.'],
] as const;
