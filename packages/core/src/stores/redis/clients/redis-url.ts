import { PolicyError, shown } from '../../../errors.ts';

/** A server: a URL for ioredis without the database, and the database. */
export interface RedisAddress {
  readonly url: string;
  readonly db: number;
  /** For messages. */
  readonly name: string;
}

/**
 * Reads `redis://user:password@host:6379/0`; `rediss:` is TLS. No error shows a part that may be a password.
 *
 * @throws PolicyError for any other text, and for a URL with a query: a client with options must be passed as a
 * client.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const url = /^rediss?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const db = /^\/?(\d{0,9})$/.exec(url?.pathname ?? '')?.[1];
  const isPlain = url?.search === '' && url.hash === '' && isDecodable(url.username + url.password);
  if (url === undefined || !isPlain || db === undefined) {
    const form = 'redis://user:password@host:6379/0 (rediss: for TLS), with user and password as encodeURIComponent';
    const expected = `a Redis URL looks like ${form} writes them, the number of a database and no query`;
    // A URL usually comes from the environment.
    const hint = text.trim() === '' ? '; is the environment variable with the URL set?' : '';
    const got = `got ${shown(removeSecrets(text))}${hint}; to set options of the client, pass a client`;
    throw new PolicyError('client', `${expected}, ${got}`, 'SLUICE_OPTION_INVALID');
  }
  const name = `${url.host === '' ? 'localhost' : url.host}${Number(db) === 0 ? '' : `/${db}`}`;
  url.pathname = '';
  return { url: url.href, db: Number(db), name };
}

function isDecodable(text: string): boolean {
  return !/%(?![\da-f]{2})/i.test(text);
}

/** Any text before the last `@`, or in a query, may be a password. */
export function removeSecrets(text: string): string {
  const scheme = /^[a-z]+:\/\//i.exec(text)?.[0] ?? '';
  const at = text.lastIndexOf('@');
  const query = text.search(/[?#]/);
  if (query !== -1 && query < at) return `${scheme}...`; // in whichever of the two
  const known = at === -1 ? text : `${scheme}...${text.slice(at)}`;
  return known.replace(/[?#].*$/s, '?...');
}
