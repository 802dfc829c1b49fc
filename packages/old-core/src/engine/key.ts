import { createHash } from 'node:crypto';
import { shown, typeError } from '../errors.ts';
import type { NamedPolicy } from './policy.ts';

/** Clients choose keys, and stores keep them: a longer key is replaced by its hash. */
const LONGEST_SUBJECT = 256;
const LONGEST_SCHEMA = 40;
/** The version of the state layouts. A layout that an older release could misread needs another. */
export const LAYOUT = '2';

/**
 * The subject that stores use for a key: the caller's string. A long string, or one that begins with `#`, becomes `#`
 * and its hash, so that no caller's string equals the hash of another or a subject of Sluice itself.
 */
export function encodeSubject(key: string): string {
  return key.length > LONGEST_SUBJECT || key.charCodeAt(0) === 35 /* # */ ? hashed(key) : key;
}

/** The cache of hashes holds at most twice the first number, of texts up to the second number of characters. */
const REMEMBERED = 1_024;
const LONGEST_REMEMBERED = 2_048;
let recent = new Map<string, string>();
let earlier: ReadonlyMap<string, string> = new Map();

/** `#` and the digest of a text. A digest costs as much as several decisions, so the last ones are cached. */
export function hashed(text: string): string {
  let hash = recent.get(text);
  if (hash !== undefined) return hash;
  hash = earlier.get(text) ?? `#${digest(text)}`;
  if (text.length > LONGEST_REMEMBERED) return hash;
  if (recent.size === REMEMBERED) {
    earlier = recent;
    recent = new Map();
  }
  recent.set(text, hash);
  return hash;
}

/** 128 bits of SHA-256 in 22 characters. Over UTF-16, so that strings with lone surrogates stay different. */
function digest(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22);
}

/**
 * The end of a key, which names the limiter and its policies: `:<limiter>:<schema>`. It contains names and kinds of
 * policies, never their numbers, so that a changed limit keeps its state.
 */
export function keySuffixOf(limiterName: string, policies: readonly NamedPolicy[]): string {
  const kinds = policies
    .map(({ name, algorithm }) => (name === limiterName ? algorithm.kind : `${algorithm.kind}.${name}`))
    .join(',');
  const schema = kinds.length > LONGEST_SCHEMA ? `#${digest(kinds)}` : kinds;
  return `:${limiterName}:${LAYOUT}${schema}`;
}

/** The schema of limits that a `LimitSource` gives, where others have the letters of their algorithms. */
export const SOURCE_SCHEMA = 'm';

/** The key suffix of such a limit: the same for all limiters that use it, and whatever its numbers and kinds. */
export function sourceKeySuffix(policyName: string): string {
  return `:${policyName}:${LAYOUT}${SOURCE_SCHEMA}`;
}

/**
 * What a key suffix belongs to, as `:<limiter>`: its limiter, whatever its policies. That of a source belongs to
 * itself, because several limiters may use it.
 */
export function ownerOf(keySuffix: string): string {
  const schemaAt = keySuffix.lastIndexOf(':');
  return keySuffix.slice(schemaAt + 1) === LAYOUT + SOURCE_SCHEMA ? keySuffix : keySuffix.slice(0, schemaAt);
}

/**
 * The subject of a key that a caller gives: see {@link encodeSubject}.
 *
 * @throws TypeError with `SLUICE_KEY_INVALID`.
 */
export function subjectOf(key: unknown, where = 'key'): string {
  if (typeof key !== 'string' || key === '') {
    const hint = typeof key === 'number' ? `; write String(${String(key)})` : '';
    throw typeError(
      'SLUICE_KEY_INVALID',
      `${where} must be a string that is not empty, got ${shown(key)}${hint}; nothing was consumed`,
    );
  }
  return key.length > LONGEST_SUBJECT || key.charCodeAt(0) === 35 /* # */ ? hashed(key) : key;
}
