import { type IncomingMessage, METHODS } from 'node:http';
import { canonicalAddress, fieldText, type RawRequest, type TrustedProxies } from '@sluice/old-http/spi';
import { originalFields, stateMethod, stateTarget } from './original-fields.ts';
import { peerOf } from './peer.ts';

/** Where gateways ask. The rest of the path, as in `/auth/orders?page=2`, is the original target, as Envoy sends it. */
const PREFIX = '/auth';
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Stands in keys for every method that Node does not know: clients invent names. */
const OTHER_METHOD = '(other)';
const NO_HEADERS: readonly string[] = [];

/** Why a request tells nothing that can be decided about. */
export type Unusable = 'not trusted' | 'contradiction' | 'no target';

/** The request that a gateway asks about, as far as the gateway is believed. */
export class OriginalRequest implements RawRequest {
  readonly socket: IncomingMessage['socket'];
  /** Empty: what the gateway states is not to be read as a sign of a proxy that is not trusted. */
  readonly rawHeaders: readonly string[] = NO_HEADERS;
  /** The address of the client. A malformed address has no key. */
  readonly address: string;
  /** Without the query. Begins with a slash. */
  readonly path: string;
  /** Undefined where the gateway does not state it. */
  readonly statedMethod: string | undefined;
  readonly #asked: IncomingMessage;

  constructor(asked: IncomingMessage, address: string, target: string, method: string | undefined) {
    this.socket = asked.socket;
    this.address = address;
    const query = target.indexOf('?');
    this.path = query === -1 ? target : target.slice(0, query);
    this.statedMethod = method;
    this.#asked = asked;
  }

  /** The method in keys. */
  get method(): string {
    const method = this.statedMethod ?? this.#asked.method ?? 'GET';
    return KNOWN_METHODS.has(method) ? method : OTHER_METHOD;
  }

  /** A header field of the original request, which gateways pass on. */
  header(name: string): string | undefined {
    return fieldText(this.#asked.headers[name]);
  }
}

/** Reads what a gateway asks about. */
export function readOriginal(asked: IncomingMessage, proxies: TrustedProxies): OriginalRequest | Unusable {
  const peer = peerOf(asked.socket);
  if (peer === undefined || !proxies.trusts(peer)) return 'not trusted';
  const fields = originalFields(asked.rawHeaders);
  const below = asked.url?.slice(PREFIX.length) ?? '';
  if (below.startsWith('/')) {
    stateTarget(fields, below);
    stateMethod(fields, asked.method ?? '');
  }
  const { forwardedFor, realIp, target, method } = fields;
  const address = proxies.clientOf(peer, forwardedFor ?? realIp);
  const isTwo = forwardedFor !== undefined && realIp !== undefined && !areSame(address, realIp);
  if (fields.contradicts || isTwo) return 'contradiction';
  return target === undefined ? 'no target' : new OriginalRequest(asked, address, target, method);
}

function areSame(address: string, other: string): boolean {
  return address === other || canonicalAddress(address, 128) === canonicalAddress(other.trim(), 128);
}
