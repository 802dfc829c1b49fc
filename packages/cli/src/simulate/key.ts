import { canonicalAddress, joinParts } from '@sluice/core/http';
import { UsageError } from '../failure.ts';
import type { Entry } from './formats/entry.ts';
import { makeRouteReader } from './routes.ts';

/** The key of requests: a part of `--key`, or several. */
export interface KeySpec {
  /** Its text, the same for equal keys. */
  readonly text: string;
  /** Whether it is only the address. */
  readonly isAddress: boolean;
  /** The key of a request, as returned by the adapters' `byIp()`, `byMethod()` and so on; undefined if it has none. */
  readonly read: (entry: Entry) => string | undefined;
}

const DEFAULT_PREFIX = 64;
const PARTS = 'ip, ip/56, route, path, method, user, user-agent, all, header:NAME, field:NAME; several with commas';

export const KEY_HELP: string = PARTS;

/** @throws UsageError for a text that is not a key, and for `route` without routes. */
export function readKey(text: string, routes: readonly string[]): KeySpec {
  const names = text.split(',').map((name) => name.trim());
  const reads = names.map((name) => readPart(name, routes));
  const [only] = reads;
  const isOne = reads.length === 1 && only !== undefined;
  return {
    text: names.map((name) => (name === `ip/${String(DEFAULT_PREFIX)}` ? 'ip' : name)).join(','),
    isAddress: isOne && /^ip\b/.test(text),
    read: isOne ? only : (entry) => joinParts(reads.map((read) => read(entry))),
  };
}

function readPart(name: string, routes: readonly string[]): KeySpec['read'] {
  const [, bits] = /^ip(?:\/(\d{1,3}))?$/.exec(name) ?? [];
  if (/^ip(\/\d{1,3})?$/.test(name)) return makeAddressReader(Number(bits ?? DEFAULT_PREFIX));
  const [, kind, field = ''] = /^(header|field):(.+)$/.exec(name) ?? [];
  if (kind === 'field') return (entry) => entry.field(field);
  if (kind === 'header') return makeHeaderReader(field);
  const read = READS[name];
  if (read !== undefined) return read;
  if (name !== 'route') throw new UsageError(`--key has no part ${JSON.stringify(name)}; known: ${PARTS}`);
  if (routes.length === 0)
    throw new UsageError("--key route needs the routes; write each of them, as in --route '/users/:id'");
  const routeOf = makeRouteReader(routes);
  return (entry) => routeOf(entry.path);
}

const READS: Readonly<Record<string, KeySpec['read']>> = {
  path: (entry) => entry.path,
  method: ({ method }) => (method === 'HEAD' ? 'GET' : method),
  user: (entry) => entry.get('user'),
  'user-agent': (entry) => entry.get('userAgent'),
  all: () => '*',
};

/** A host name, which a log may have instead of an address, is used unchanged. */
function makeAddressReader(bits: number): KeySpec['read'] {
  if (bits < 32 || bits > 128) {
    const expected = '--key ip/N is the prefix of IPv6 addresses, from 32 to 128 bits as in byIp({ ipv6Prefix })';
    throw new UsageError(`${expected}, got ip/${String(bits)}`);
  }
  return ({ address }) => address && (canonicalAddress(address, bits) ?? address.toLowerCase());
}

/** A header field as nginx and programs that write JSON name it. */
function makeHeaderReader(name: string): KeySpec['read'] {
  const lower = name.toLowerCase();
  const names = [`http_${lower.replaceAll('-', '_')}`, name, `headers.${lower}`, `req.headers.${lower}`];
  names.push(`request_${name}`, `request.headers.${name}`);
  return (entry) => entry.field(...names);
}
