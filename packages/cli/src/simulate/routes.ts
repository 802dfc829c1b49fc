import { UsageError } from '../failure.ts';

/** All paths that no pattern covers share one key: otherwise clients could create any number of keys. */
const OTHER = '(other)';

/**
 * Finds the pattern of a path, such as `/users/:id` and `/files/*`. A literal segment takes precedence over one with a
 * parameter, and that over a star. Empty segments, a trailing slash, case and escaped letters make no difference.
 *
 * @throws UsageError for a text that is not a pattern.
 */
export function makeRouteReader(patterns: readonly string[]): (path: string) => string {
  const routes = patterns.map((pattern) => {
    if (/^\/\S*$/.test(pattern)) return { pattern, segments: splitPath(pattern) };
    const expected = '--route must be the path of a route, such as /users/:id or /files/*';
    throw new UsageError(`${expected}, got ${JSON.stringify(pattern)}`);
  });
  // Ranks sort by precedence, segment by segment.
  const ranks = (segments: readonly string[]): string =>
    segments.map((segment) => (segment === '*' ? 2 : segment.startsWith(':') ? 1 : 0)).join('');
  routes.sort((one, other) => (ranks(one.segments) < ranks(other.segments) ? -1 : 1));
  return (path) => {
    const given = splitPath(path);
    return routes.find(({ segments }) => covers(segments, given))?.pattern ?? OTHER;
  };
}

function covers(segments: readonly string[], given: readonly string[]): boolean {
  const star = segments.indexOf('*');
  const length = star === -1 ? segments.length : star;
  if (star === -1 ? given.length !== length : given.length < length) return false;
  return segments.slice(0, length).every((segment, i) => segment.startsWith(':') || segment === given[i]);
}

function splitPath(path: string): readonly string[] {
  let plain = path;
  try {
    plain = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded is used unchanged.
  }
  const segments = plain.split('/').filter((segment) => segment !== '');
  return segments.map((segment) => (segment.startsWith(':') ? segment : segment.toLowerCase()));
}
