import { shown, typeError } from '../errors.ts';
import { runtime } from '../platform.ts';

/** Clients choose keys, and stores keep them: a longer key is replaced by its hash. */
const MAX_SUBJECT = 256;
/**
 * A hash begins with `#`, so that no key equals the hash of another. Braces would move a key to another node of a
 * cluster, and a lone surrogate equals every other one in UTF-8.
 */
const UNSAFE = /^#|[{}\ud800-\udfff]/;

/**
 * The subject that stores keep for a caller's key: the same string, or `#` and its hash if it has more than 256
 * characters, begins with `#`, or contains a brace or a lone surrogate.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for anything but a non-empty string.
 */
export function readSubject(key: unknown, where = 'key'): string {
  if (typeof key !== 'string' || key === '') {
    const hint = typeof key === 'number' ? `; write String(${String(key)})` : '';
    const expected = `${where} must be a non-empty string`;
    throw typeError('SLUICE_KEY_INVALID', `${expected}, got ${shown(key)}${hint}; nothing was consumed`);
  }
  return key.length > MAX_SUBJECT || UNSAFE.test(key) ? `#${hashText(key)}` : key;
}

/** Browsers only count in memory, and hash nothing. */
const crypto = /* @__PURE__ */ (() => runtime.getBuiltinModule?.('node:crypto'))();

/** 128 bits of the SHA-256 of a text, in 22 characters. Over UTF-16, so that lone surrogates stay different. */
export function hashText(text: string): string {
  return crypto?.createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22) ?? text;
}
