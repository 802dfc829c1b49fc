import { type IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { canonicalAddress, type TrustedProxies } from '@sluice/core/http';

/** Where gateways ask. The rest of the path, as in `/auth/orders?page=2`, is the original target, as Envoy sends it. */
const PREFIX = '/auth';
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Replaces every method that Node does not know in keys, because clients can invent names. */
const OTHER_METHOD = '(other)';
/** The scheme and authority of a target in absolute form. Caddy and other programs in Go also read `http:/login`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:(?:\/\/[^/?#]*)?/i;
const TARGETS: readonly string[] = ['x-forwarded-uri', 'x-original-uri', 'x-original-url'];
const METHOD_FIELDS: readonly string[] = ['x-forwarded-method', 'x-original-method'];

/** The request that a gateway asks about, as far as the gateway is trusted. */
export interface OriginalRequest {
  readonly socket: Socket;
  /** The client's address, or the gateway's if it states none. A malformed address has no key. */
  readonly address: string;
  /** Whether the gateway states the client's address. */
  readonly namesClient: boolean;
  /** Without the query. Begins with a slash. */
  readonly path: string;
  /** Undefined if the gateway does not state it. */
  readonly statedMethod: string | undefined;
  /** The method in keys. */
  readonly method: string;
  /** The header fields of the gateway's request, which include those of the original one. */
  readonly headers: IncomingMessage['headers'];
}

/**
 * Reads what a gateway asks about. A gateway writes one family of fields and passes on what a client sends in the
 * other, so all that are present must agree.
 *
 * @returns The reason why no decision is possible, if the request lacks facts.
 */
export function readOriginal(
  { socket, rawHeaders, headers, url = '', method: askedMethod = 'GET' }: IncomingMessage,
  proxies: TrustedProxies,
): OriginalRequest | 'not trusted' | 'contradiction' | 'no target' {
  const peer = socket.remoteAddress; // undefined once it has left
  if (peer === undefined || !proxies.trusts(peer)) return 'not trusted';
  const targets = new Set<string>();
  const methods = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    if (value === '') continue; // it states nothing
    if (TARGETS.includes(name)) targets.add(splitTarget(value));
    else if (METHOD_FIELDS.includes(name)) methods.add(value);
  }
  if (url.startsWith(`${PREFIX}/`)) {
    targets.add(splitTarget(url.slice(PREFIX.length)));
    methods.add(askedMethod);
  }
  const forwardedFor = headers['x-forwarded-for']?.toString();
  const realIp = headers['x-real-ip']?.toString();
  const address = proxies.clientOf(peer, forwardedFor ?? realIp);
  const areTwo = forwardedFor !== undefined && realIp !== undefined && !areSame(address, realIp);
  if (targets.size > 1 || methods.size > 1 || areTwo) return 'contradiction';
  const [target] = targets;
  if (target === undefined) return 'no target';
  const [statedMethod] = methods;
  const method = statedMethod ?? askedMethod;
  const [path = '/'] = target.split('?', 1);
  const namesClient = (forwardedFor ?? realIp) !== undefined;
  const keyMethod = KNOWN_METHODS.has(method) ? method : OTHER_METHOD;
  return { socket, address, namesClient, path, statedMethod, method: keyMethod, headers };
}

/** The target as a path and a query; `*`, which names no path, becomes a path below `/`. */
function splitTarget(target: string): string {
  if (target.startsWith('/')) return target;
  const below = target.replace(ORIGIN, '');
  return below.startsWith('/') ? below : `/${below}`;
}

function areSame(address: string, other: string): boolean {
  return address === other || canonicalAddress(address, 128) === canonicalAddress(other.trim(), 128);
}
