/**
 * A path that all upstreams read alike, apart from upper and lower case: no escapes, no parameters, no empty segment,
 * no segment that ends with a dot.
 */
const UNAMBIGUOUS = /^(?:\/\.*[\w~!$&'()*+,=:@-]+(?:\.+[\w~!$&'()*+,=:@-]+)*)*\/?$/;
const MAX_READINGS = 16;
/** The maximum length of all readings together, so that a long path takes no more time than a short one. */
const MAX_CHARACTERS = 8_192;

/**
 * What servers and routers do to a path before they compare it with their routes: each does some of this, in its own
 * order.
 */
const STEPS: readonly ((path: string) => string)[] = [
  decode,
  decodeWithoutSeparators,
  resolveDots,
  (path) => path.replaceAll(/\/{2,}/g, '/'),
  (path) => path.replace(/^[/\\]{2,}[^/\\]*/, '') || '/', // as the authority of a URL: `new URL('///a/b', base)` has the path /b
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replaceAll(/;[^/]*/g, ''), // parameters of a segment, RFC 3986, section 3.3
  (path) => path.replaceAll(/(?<![. ])(?!(?<=\/)\.{1,2}(?:\/|$))[. ]+(?=\/|$)/g, ''), // as Windows with names of files
  (path) => path.replace(/;.*$/s, ''), // as the beginning of a query
  // A C string ends at NUL, `.` in a pattern stops at a line end, and URL drops tabs and line ends.
  // eslint-disable-next-line no-control-regex -- they are meant
  (path) => path.replace(/[\0-\x1f\x7f?#].*$/s, ''),
  // eslint-disable-next-line no-control-regex -- they are meant
  (path) => path.replaceAll(/[\0-\x1f\x7f]/g, ''),
];

/**
 * The forms that an upstream may give a path before it looks for a route, the path as written first. Plain paths have
 * one; `/a%2Fb` is `/a%2Fb` for some upstreams, `/a/b` for others.
 *
 * @param path - Without its query. Each character is a byte, as Node reads header fields.
 * @returns Undefined for a path with more than 16 forms, or very long ones: no client writes such a path by mistake.
 */
export function listReadings(path: string): readonly string[] | undefined {
  if (UNAMBIGUOUS.test(path)) return [path];
  if (path.length > MAX_CHARACTERS) return undefined;
  const readings = new Set([path]);
  let characters = path.length;
  for (const reading of readings) {
    for (const step of STEPS) {
      const next = step(reading);
      if (readings.has(next)) continue;
      characters += next.length;
      if (readings.size === MAX_READINGS || characters > MAX_CHARACTERS) return undefined;
      readings.add(next);
    }
  }
  return [...readings];
}

const NOT_ASCII = /[^\0-\x7f]/;

/**
 * Folds the case of a path, as case-insensitive upstreams do: some also take `\u017f` (a long s) for `s`, and `\u212a`
 * (the sign of kelvin) for `k`.
 */
export function foldCase(path: string): string {
  return NOT_ASCII.test(path) ? path.toUpperCase().toLowerCase() : path.toLowerCase();
}

function decode(path: string): string {
  return decodeEscapes(path, /(?:%[0-9a-f]{2})+/gi);
}

/** Decodes as routers do that split a path before decoding it. */
function decodeWithoutSeparators(path: string): string {
  return decodeEscapes(path, /(?:%(?!2f|5c)[0-9a-f]{2})+/gi);
}

/** Decodes once. Bytes that are not valid UTF-8 become U+FFFD. */
function decodeEscapes(path: string, escapes: RegExp): string {
  const decodeAs = (encoding: 'latin1' | 'utf8'): string =>
    path.replaceAll(escapes, (written) => Buffer.from(written.replaceAll('%', ''), 'hex').toString(encoding));
  const isText = /[^\0-\xff]/.test(path); // its bytes were decoded before
  return isText ? decodeAs('utf8') : Buffer.from(decodeAs('latin1'), 'latin1').toString('utf8');
}

/** Removes `.` and, with the segment before it, `..`; `%2e` is a dot, as in a URL. */
function resolveDots(path: string): string {
  if (!/\.|%2e/i.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    const dots = segment.replaceAll(/%2e/gi, '.');
    if (dots === '..') kept.length = Math.max(kept.length - 1, 1);
    else if (dots !== '.' || kept.length === 0) kept.push(segment);
  }
  return kept.length === 1 ? '/' : kept.join('/');
}
