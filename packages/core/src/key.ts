import { createHash } from 'node:crypto';
import { shown, typeError } from './errors.ts';
import type { NamedPolicy } from './policy.ts';

/** Subjects up to this many characters stand in keys as they are, if all of them are plain. */
const LONGEST_PLAIN = 64;
const LONGEST_SCHEMA = 40;
/** The version of the state layouts. A layout that an older release could misread needs another. */
const LAYOUT = '1';

/**
 * The subject as it stands between the braces of a key. Plain ASCII stands for itself; whatever could move a hash slot,
 * is long, or is not plain stands as a `#` and 128 bits of its SHA-256: no caller can make it collide with another
 * subject, and no key grows without bound.
 */
export function encodeSubject(subject: string): string {
  if (subject === lastPlain) return subject;
  if (!isPlain(subject)) return `#${digest(subject)}`;
  lastPlain = subject;
  return subject;
}

/** The last one that was plain: a key that is hot is asked for again and again, and to look at it costs as much as to spend from a lease. */
let lastPlain = '';

function isPlain(subject: string): boolean {
  if (subject.length > LONGEST_PLAIN || subject.charCodeAt(0) === 35 /* # */) return false;
  for (let i = 0; i < subject.length; i++) {
    const code = subject.charCodeAt(i);
    if (code <= 32 || code >= 127 || code === 123 /* { */ || code === 125 /* } */) return false;
  }
  return true;
}

/** 128 bits of SHA-256 in 22 characters. Over UTF-16, so that strings with lone surrogates stay different. */
export function digest(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22);
}

/**
 * What of a key names the limiter and its policies: `:<limiter>:<schema>`. Names and kinds of policies, never their
 * numbers, so that a changed limit keeps its state.
 */
export function keyScope(limiterName: string, policies: readonly NamedPolicy[]): string {
  const kinds = policies
    .map(({ name, algorithm }) => (name === limiterName ? algorithm.kind : `${algorithm.kind}.${name}`))
    .join(',');
  const schema = kinds.length > LONGEST_SCHEMA ? `#${digest(kinds)}` : kinds;
  return `:${limiterName}:${LAYOUT}${schema}`;
}

/**
 * Checks what a caller gave as a key.
 *
 * @throws TypeError with `SLUICE_KEY_INVALID`.
 */
export function checkSubject(subject: unknown, where = 'key'): asserts subject is string {
  if (typeof subject !== 'string' || subject === '') {
    const hint = typeof subject === 'number' ? `; write String(${String(subject)})` : '';
    throw typeError(
      'SLUICE_KEY_INVALID',
      `${where} must be a string that is not empty, got ${shown(subject)}${hint}; nothing was consumed`,
    );
  }
}
