import type { IncomingMessage } from 'node:http';
import { canonicalAddress, fieldText, TrustedProxies } from '@sluice/old-http/spi';

/** Bits of an IPv6 address that belong to one client. */
const CLIENT_BITS = 64;
/** Every peer of a Unix socket: it has no address. */
const UNIX = 'unix';
const NONE: readonly string[] = [];

/**
 * Whose a connection or a request is, for bounds on what waits: the peer's; behind a gateway of `trusted_proxies` that
 * of the gateway's client.
 */
export class Clients {
  readonly #rangesOf: () => readonly string[] | undefined;
  #ranges: readonly string[] = NONE;
  #gateways = new TrustedProxies(NONE, 'trusted_proxies');

  /** @param rangesOf - The gateways of the present configuration: another list after a reload. */
  constructor(rangesOf: () => readonly string[] | undefined = () => undefined) {
    this.#rangesOf = rangesOf;
  }

  /** Whether a peer is a gateway, whose connections carry requests of many clients. */
  isGateway(address: string | undefined): boolean {
    return this.#current().trusts(address);
  }

  /** The name of a peer. IPv6 addresses of one network are one peer. */
  peerOf(address: string | undefined): string {
    return address === undefined ? UNIX : (canonicalAddress(address, CLIENT_BITS) ?? address);
  }

  /** The name of the client of a request. */
  clientOf({ socket, headers }: IncomingMessage): string {
    const { remoteAddress } = socket;
    const gateways = this.#current();
    if (remoteAddress === undefined || !gateways.trusts(remoteAddress)) return this.peerOf(remoteAddress);
    return this.peerOf(gateways.clientOf(remoteAddress, fieldText(headers['x-forwarded-for'])));
  }

  #current(): TrustedProxies {
    const ranges = this.#rangesOf() ?? NONE;
    if (ranges !== this.#ranges) {
      this.#ranges = ranges;
      this.#gateways = new TrustedProxies(ranges, 'trusted_proxies');
    }
    return this.#gateways;
  }
}
