import { PolicyError, shown } from '../../../errors.ts';

/** The server of a URL, as options of ioredis. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  readonly tls?: object;
}

/**
 * Reads `redis://user:password@host:6379/0`; `rediss:` is TLS. No error shows a part that may be a password.
 *
 * @throws PolicyError for any other text, and for a URL with a query: a client with options must be passed as a
 * client.
 */
export function parseRedisUrl(text: string): RedisAddress {
  const url = /^rediss?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined)
    throw invalid(
      'a Redis URL looks like redis://user:password@host:6379/0 (rediss: for TLS)',
      text,
      text.trim() === '',
    );
  if (url.search !== '' || url.hash !== '') {
    throw invalid('a Redis URL has no query here; to set options of the client, pass a client', text);
  }
  const db = /^\/?(\d{0,9})$/.exec(url.pathname)?.[1];
  if (db === undefined) throw invalid('a Redis URL ends with the number of a database, or with nothing', text);
  const username = decoded(url.username, text);
  const password = decoded(url.password, text);
  return {
    host: url.hostname === '' ? 'localhost' : url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 6379 : Number(url.port),
    db: Number(db),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function decoded(part: string, text: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('user and password of a Redis URL are written with % as encodeURIComponent does', text);
  }
}

/** @param isEmpty - A URL usually comes from the environment. */
function invalid(expected: string, text: string, isEmpty = false): PolicyError {
  const hint = isEmpty ? '; is the environment variable of the URL set?' : '';
  return new PolicyError('client', `${expected}, got ${shown(withoutSecrets(text))}${hint}`, 'SLUICE_OPTION_INVALID');
}

/** All text before the last `@`, and in a query, may be a password. */
export function withoutSecrets(text: string): string {
  const scheme = /^[a-z]+:\/\//i.exec(text)?.[0] ?? '';
  const at = text.lastIndexOf('@');
  const query = text.search(/[?#]/);
  if (query !== -1 && query < at) return `${scheme}...`; // in whichever of the two
  const shown = at === -1 ? text : `${scheme}...${text.slice(at)}`;
  return shown.replace(/[?#].*$/s, '?...');
}
