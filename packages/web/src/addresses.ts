import { PolicyError } from '@sluice/old-core';
import { TrustedProxies } from '@sluice/old-http/spi';
import { kindOf } from './kind-of.ts';

/**
 * Where the address of a client comes from: a function of the request and of what the server passes to the handler
 * beside it. Undefined for a request without an address.
 */
export type AddressSource<Req = Request> = (request: Req, ...context: never[]) => string | undefined;

/** The parts of Bun's server that tell an address. */
interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
}

/** A request of Node, or what holds one, as the `env` of `@hono/node-server` does. */
interface NodeConnection {
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly incoming?: NodeConnection;
}

/** Sources that tell the peer of the connection, and believe no header field. */
const peers = new WeakSet<object>();

/** Whether a source tells the peer of the connection. */
export function tellsPeer(source: AddressSource): boolean {
  return peers.has(source);
}

/**
 * The peer of the connection, as Bun's server knows it.
 *
 * @param server - Default: the second argument of the handler, which `Bun.serve` passes.
 */
export function fromBun(server?: BunServer): AddressSource {
  const source = (request: Request, context?: BunServer | { readonly server?: BunServer }): string | undefined => {
    const known = server ?? (context as { readonly server?: BunServer } | undefined)?.server ?? context;
    return (needed(known, 'requestIP', 'fromBun()', 'the server') as BunServer).requestIP(request)?.address;
  };
  peers.add(source);
  return source;
}

/** The peer of the connection, from the second argument of the handler, which `Deno.serve` passes. */
export function fromDeno(
  _request: Request,
  info: { readonly remoteAddr: { readonly hostname?: string } },
): string | undefined {
  const { hostname } = needed(info, 'remoteAddr', 'fromDeno', 'the info').remoteAddr;
  return hostname === '0.0.0.0' || hostname === '::' ? undefined : hostname; // Deno's for a client that has left
}
peers.add(fromDeno);

/**
 * The peer of the connection, from the second argument of the handler: a request of Node, or an object whose
 * `incoming` is one, as `@hono/node-server` passes it.
 */
export function fromNode(_request: Request, connection: NodeConnection): string | undefined {
  const { incoming = connection } = (connection as NodeConnection | undefined) ?? {};
  return needed(incoming, 'socket', 'fromNode', 'the request of Node').socket?.remoteAddress;
}
peers.add(fromNode);

/** The field `CF-Connecting-IP`. Only for applications that nothing but Cloudflare can reach: it replaces the field. */
export function fromCloudflare(request: Request): string | undefined {
  return request.headers.get('cf-connecting-ip') ?? undefined;
}

/** The field `X-Real-IP`. Only for applications that nothing but Vercel can reach: it replaces the field. */
export function fromVercel(request: Request): string | undefined {
  return request.headers.get('x-real-ip') ?? undefined;
}

/**
 * The client that trusted proxies name in `X-Forwarded-For`: the last address in it that is not one of theirs. The
 * field of any other peer is ignored.
 *
 * @param trusted - Addresses and CIDR ranges of the proxies.
 * @param peer - Tells the peer of the connection: `fromNode`, `fromDeno` or `fromBun()`.
 * @throws PolicyError for a malformed range, or an empty list.
 */
export function fromProxy(trusted: readonly string[], peer: AddressSource): AddressSource {
  const proxies = new TrustedProxies(trusted, 'trusted');
  if (trusted.length === 0 || typeof (peer as unknown) !== 'function') {
    throw new PolicyError(
      'address',
      `fromProxy takes the addresses of proxies and a function that tells the peer, such as fromProxy(["10.0.0.0/8"], fromNode), got ${String(trusted.length)} addresses and ${typeof peer}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return (request, ...context) => {
    const address = peer(request, ...context);
    if (address === undefined || !proxies.trusts(address)) return address;
    return proxies.clientOf(address, request.headers.get('x-forwarded-for') ?? undefined);
  };
}

/**
 * Checks the option `address`.
 *
 * @throws PolicyError for anything but a function.
 */
export function parseAddress(option: unknown): AddressSource | undefined {
  if (option === fromBun) return fromBun(); // uncalled, as the others are written
  if (option !== fromProxy && (option === undefined || typeof option === 'function')) {
    return option as AddressSource | undefined;
  }
  const got = option === fromProxy ? 'fromProxy itself, which takes the addresses of your proxies' : kindOf(option);
  throw new PolicyError('address', `address must be ${SOURCES}, got ${got}`, 'SLUICE_OPTION_INVALID');
}

/**
 * The second argument that a server passes with a request.
 *
 * @param member - What it has, by which it is told from what other servers pass.
 */
function needed<Context>(context: Context | undefined, member: string, source: string, what: string): Context {
  if (typeof context === 'object' && context !== null && member in context) return context;
  throw new TypeError(
    `address: ${source} reads ${what} that the server passes as the second argument of its handler, got ${kindOf(context)}; pass it on: limited(request, info), check(request, info), keyFor(request, info)`,
  );
}

const SOURCES: string =
  'fromBun(), fromDeno, fromNode, fromCloudflare, fromVercel, fromProxy(...) or a function of the request';

/** Ends the error about an option that needs the address. */
export const NO_ADDRESS: string = `write address: ${SOURCES}`;
