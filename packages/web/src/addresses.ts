import { PolicyError } from '@sluice/core';
import { TrustedProxies } from '@sluice/core/http';
import { readOptions, shown } from '@sluice/core/spi';

/**
 * Where the client's address comes from: a function of the request and the server's other arguments to the handler.
 * Undefined for a request without an address.
 */
export type AddressSource<Req = Request> = (request: Req, ...context: never[]) => string | undefined;

/** The option `address`. */
export interface AddressOption<Req = Request> {
  /**
   * Where the client's address comes from: `fromBun()`, `fromDeno`, `fromNode`, `fromCloudflare`, `fromVercel`,
   * `fromProxy(...)`, or a function of the request and what the server passes beside it (in Hono of the context, as
   * `(c) => getConnInfo(c).remote.address`). Keys by address (such as the default) and lists of addresses need it.
   */
  address?: AddressSource<Req> | undefined;
}

/** A request, or the context of Hono that has it. */
type Given = Request | { readonly req: { readonly raw: Request } };

function readRequest(given: Given): Request {
  return 'req' in given ? given.req.raw : given;
}

/** The parts of Bun's server that tell an address. */
interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
}

/** A request of Node, or what holds one, as the `env` of `@hono/node-server` does. */
interface NodeConnection {
  readonly socket?: { readonly remoteAddress?: string | undefined } | null;
  readonly incoming?: NodeConnection;
}

/**
 * The peer of the connection, as Bun's server knows it.
 *
 * @param server - Default: the second argument of the handler, which `Bun.serve` passes.
 */
export function fromBun(server?: BunServer): AddressSource<Given> {
  return (given: Given, context?: BunServer | { readonly server?: BunServer }) => {
    const known = server ?? (context as { readonly server?: BunServer } | undefined)?.server ?? context;
    return (needed(known, 'requestIP', 'fromBun() reads the server') as BunServer).requestIP(readRequest(given))
      ?.address;
  };
}

/** The peer of the connection, from the second argument of the handler, which `Deno.serve` passes. */
export function fromDeno(
  _request: Given,
  info: { readonly remoteAddr: { readonly hostname?: string } },
): string | undefined {
  const { hostname } = needed(info, 'remoteAddr', 'fromDeno reads the info').remoteAddr;
  return hostname === '0.0.0.0' || hostname === '::' ? undefined : hostname; // Deno's for a client that has left
}

/**
 * The peer of the connection, from the second argument of the handler: a request of Node, or an object whose
 * `incoming` is one, as `@hono/node-server` passes it.
 */
export function fromNode(_request: Given, connection: NodeConnection): string | undefined {
  const { incoming = connection } = (connection as NodeConnection | undefined) ?? {};
  return needed(incoming, 'socket', 'fromNode reads the request of Node').socket?.remoteAddress;
}

/** The field `CF-Connecting-IP`. Only for applications that nothing but Cloudflare can reach: it replaces the field. */
export function fromCloudflare(given: Given): string | undefined {
  return readRequest(given).headers.get('cf-connecting-ip') ?? undefined;
}

/** The field `X-Real-IP`. Only for applications that nothing but Vercel can reach: it replaces the field. */
export function fromVercel(given: Given): string | undefined {
  return readRequest(given).headers.get('x-real-ip') ?? undefined;
}

/**
 * The client that trusted proxies name in `X-Forwarded-For`: the last address in it that is not one of theirs. The
 * field of any other peer is ignored.
 *
 * @param trusted - Addresses and CIDR ranges of the proxies.
 * @param peer - Tells the peer of the connection: `fromNode`, `fromDeno` or `fromBun()`.
 * @throws PolicyError for a malformed range.
 */
export function fromProxy<Req extends Given = Given>(
  trusted: readonly string[],
  peer: AddressSource<Req>,
): AddressSource<Req> {
  const proxies = new TrustedProxies(trusted, 'trusted');
  const peerOf = parseAddress(peer) as AddressSource<Req>;
  return (given, ...context) => {
    const address = peerOf(given, ...context);
    if (address === undefined || !proxies.trusts(address)) return address;
    return proxies.clientOf(address, readRequest(given).headers.get('x-forwarded-for') ?? undefined);
  };
}

/**
 * Checks the option `address`.
 *
 * @throws PolicyError for anything but a function.
 */
export function parseAddress(option: unknown): AddressSource<never> {
  if (option === fromBun) return fromBun(); // uncalled, as the others are written
  if (typeof option === 'function' && option !== fromProxy) return option as AddressSource<never>;
  throw new PolicyError('address', `address must be ${SOURCES}, got ${shown(option)}`, 'SLUICE_OPTION_INVALID');
}

/** Gives the option `address` of a `rateLimit` function a default. */
export function withAddress<RateLimit extends (options: never) => object>(
  rateLimit: RateLimit,
  options: Required<AddressOption<never>>,
): RateLimit {
  const { address } = readOptions(options, { address: parseAddress }, 'createRateLimit');
  const limit = (own: AddressOption<never>): object => rateLimit({ ...own, address: own.address ?? address } as never);
  return limit as unknown as RateLimit;
}

/**
 * The second argument that a server passes with a request.
 *
 * @param member - A member that what other servers pass does not have.
 * @param what - What reads it, and as what, for errors.
 */
function needed<Context>(context: Context | undefined, member: string, what: string): Context {
  if (typeof context === 'object' && context !== null && member in context) return context;
  throw new TypeError(
    `address: ${what} that the server passes as the second argument of its handler, got ${shown(context)}; pass it on: limited(request, info), check(request, info), keyFor(request, info)`,
  );
}

const SOURCES: string =
  'fromBun(), fromDeno, fromNode, fromCloudflare, fromVercel, fromProxy(...) or a function of the request';

/** Ends the error about an option that needs the address. */
export const NO_ADDRESS: string = `write address: ${SOURCES}; or once for all limits, createRateLimit({ address })`;
