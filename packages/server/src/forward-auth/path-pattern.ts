import { foldCase } from '@sluice/core/spi';
import { Wildcard } from '../config/wildcard.ts';

/**
 * A pattern of paths: `/login` is one path, `/api/*` is `/api` and all paths below it, `*` within a segment matches any
 * characters except a slash. Trailing slashes do not count.
 */
export class PathPattern {
  readonly text: string;
  readonly #asWritten: Matcher;
  readonly #inSmallLetters: Matcher;

  constructor(text: string) {
    this.text = text;
    this.#asWritten = makeMatcher(text);
    this.#inSmallLetters = this.hasCapitals ? makeMatcher(foldCase(text)) : this.#asWritten;
  }

  get hasCapitals(): boolean {
    return this.text !== foldCase(this.text);
  }

  /** Takes time proportional to the length of the pattern, and hardly any for the rest of a path. */
  matches(path: string): boolean {
    return this.#asWritten(path);
  }

  /** Like {@link matches}, but ignores case. The path is a result of {@link foldCase}. */
  matchesSmall(path: string): boolean {
    return this.#inSmallLetters(path);
  }
}

type Matcher = (path: string) => boolean;

function makeMatcher(text: string): Matcher {
  const isOpen = text.endsWith('*');
  const head = isOpen ? text.slice(0, -1) : trimSlashes(text);
  if (head.includes('*')) return makeSegmentMatcher(head, isOpen);
  if (!isOpen) return (path) => trimSlashes(path) === head;
  const own = head.endsWith('/') ? trimSlashes(head) : undefined;
  return (path) => path.startsWith(head) || trimSlashes(path) === own;
}

/** Compares segment by segment. The last one of an open pattern is a prefix, which anything may follow. */
function makeSegmentMatcher(head: string, isOpen: boolean): Matcher {
  const wildcards = head.split('/').map((segment) => new Wildcard(segment));
  const rest = isOpen ? new Wildcard(`${wildcards.pop()?.pattern ?? ''}*`) : undefined;
  return (path) => {
    const segments = trimSlashes(path).split('/', wildcards.length + 1); // a long path has many
    const isLong = rest === undefined ? segments.length === wildcards.length : segments.length >= wildcards.length;
    if (!isLong || wildcards.some((wildcard, i) => !wildcard.matches(segments[i] as string))) return false;
    const next = segments[wildcards.length];
    return rest === undefined || (next === undefined ? rest.pattern === '*' : rest.matches(next));
  };
}

function trimSlashes(path: string): string {
  let end = path.length;
  while (path.charCodeAt(end - 1) === SLASH) end--;
  return end === path.length ? path : path.slice(0, end);
}

const SLASH = 47;
