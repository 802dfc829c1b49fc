import { canonicalAddress, joinParts } from '@sluice/old-http/spi';
import { UsageError } from '../terminal/failure.ts';
import { insteadOf } from '@sluice/old-core/inspect';
import type { LogEntry } from '../formats/log-entry.ts';
import { decoded } from '../formats/decoded.ts';
import type { RouteTemplates } from './route-templates.ts';

const PARTS = ['ip', 'route', 'path', 'method', 'user', 'user-agent', 'all'] as const;
const DEFAULT_PREFIX = 64;

/** The key of requests: a part of `--key`, or several. */
export interface KeySpec {
  /** As it is written, and the same for equal ones. */
  readonly text: string;
  readonly hasRoute: boolean;
  /** Set where the key is the address alone: the prefix of IPv6 addresses. */
  readonly addressBits: number | undefined;
  /** The key of a request, as the adapters' `byIp()`, `byRoute()` and so on give it; undefined where it has none. */
  read(entry: LogEntry): string | undefined;
}

type ReadPart = (entry: LogEntry) => string | undefined;

/**
 * Reads `--key`: `ip`, `ip/56`, `route`, `path`, `method`, `user`, `user-agent`, `all`, `header:NAME` or `field:NAME`;
 * several with commas.
 *
 * @param routes - Undefined: none are known.
 * @throws UsageError for any other text, and for `route` without routes.
 */
export function keySpec(text: string, routes: RouteTemplates | undefined): KeySpec {
  const names = text.split(',').map((part) => part.trim());
  const reads = names.map((name) => partOf(name, routes));
  const [only] = reads;
  const bits = names.length === 1 ? addressBits(names[0] ?? '') : undefined;
  return {
    text: names.map((name) => (addressBits(name) === DEFAULT_PREFIX ? 'ip' : name)).join(','),
    hasRoute: names.includes('route'),
    addressBits: bits,
    read: reads.length === 1 && only !== undefined ? only : (entry) => joinParts(reads.map((read) => read(entry))),
  };
}

function partOf(name: string, routes: RouteTemplates | undefined): ReadPart {
  const bits = addressBits(name);
  if (bits !== undefined) return (entry) => addressKey(entry, bits);
  const field = /^(?:field|header):(.+)$/.exec(name);
  if (field !== null) {
    const wanted = name.startsWith('header:') ? name : (field[1] ?? '');
    return (entry) => entry.detail.field(wanted);
  }
  switch (name) {
    case 'route':
      if (routes === undefined)
        throw new UsageError("--key route needs the routes; write each of them, as in --route '/users/:id'");
      return (entry) => routes.of(entry.path);
    case 'path':
      return (entry) => entry.path;
    case 'method':
      return ({ detail: { method } }) => (method === 'HEAD' ? 'GET' : method);
    case 'user':
      return (entry) => entry.detail.user;
    case 'user-agent':
      return (entry) => entry.detail.userAgent;
    case 'all':
      return () => '*';
    default:
      throw new UsageError(
        `--key has no part ${JSON.stringify(name)}; ${insteadOf(name, [...PARTS, 'ip/56', 'header:NAME', 'field:NAME'])}`,
      );
  }
}

/** The bits of `ip` or `ip/56`; undefined for another part. */
function addressBits(name: string): number | undefined {
  const match = /^ip(?:\/(\d{1,3}))?$/.exec(name);
  if (match === null) return undefined;
  const bits = match[1] === undefined ? DEFAULT_PREFIX : Number(match[1]);
  if (bits < 32 || bits > 128) {
    throw new UsageError(
      `--key ip/N is the prefix of IPv6 addresses, from 32 to 128 bits as in byIp({ ipv6Prefix }), got ${name}`,
    );
  }
  return bits;
}

/** The canonical address. The name of a host, which a log may have instead, stands as it is. */
export function addressKey({ address, format }: LogEntry, bits: number): string | undefined {
  if (address === '' || address === '-') return undefined;
  return canonicalAddress(address, bits) ?? (format.addressesAreBytes ? decoded(address) : address).toLowerCase();
}
