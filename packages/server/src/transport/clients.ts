import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { canonicalAddress, TrustedProxies } from '@sluice/core/http';
import { Shares } from './shares.ts';

/** Bits of an IPv6 address that belong to one client. */
const CLIENT_BITS = 64;
const MIB = 1_048_576;
const NONE: readonly string[] = [];

/**
 * The clients of a process, for per-client bounds: the peers of its connections or, behind a gateway in
 * `trusted_proxies`, the gateway's clients.
 */
export class Clients {
  readonly #readRanges: () => readonly string[] | undefined;
  readonly #connections = new Shares(4096);
  /** Open gRPC calls: far more than decisions need. */
  readonly calls: Shares = new Shares(2048);
  /** Bytes of incomplete bodies and messages. */
  readonly bytes: Shares = new Shares(32 * MIB);
  #ranges: readonly string[] = NONE;
  #gateways = new TrustedProxies(NONE, 'trusted_proxies');

  /** @param readRanges - Returns the gateways of the current configuration: another list after a reload. */
  constructor(readRanges: () => readonly string[] | undefined = () => undefined) {
    this.#readRanges = readRanges;
  }

  /** The gateways, whose connections carry requests of many clients. */
  get gateways(): TrustedProxies {
    const ranges = this.#readRanges() ?? NONE;
    if (ranges !== this.#ranges) {
      this.#ranges = ranges;
      this.#gateways = new TrustedProxies(ranges, 'trusted_proxies');
    }
    return this.#gateways;
  }

  /** The name of the client of a request. IPv6 addresses of one network are one client. */
  clientOf({ socket: { remoteAddress }, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    const { gateways } = this;
    if (remoteAddress === undefined || !gateways.trusts(remoteAddress)) return nameOf(remoteAddress);
    return nameOf(gateways.clientOf(remoteAddress, headers['x-forwarded-for']?.toString()));
  }

  /** The name of the client of a connection: its peer, even if that is a gateway. */
  peerOf({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string {
    return nameOf(remoteAddress);
  }

  /** Ends a peer's connections to a server beyond the peer's share. Those of gateways do not count. */
  boundConnections(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || this.gateways.trusts(remoteAddress)) return;
      const peer = nameOf(remoteAddress);
      if (!this.#connections.take(peer, 1)) {
        socket.destroy();
        return;
      }
      socket.once('close', () => {
        this.#connections.give(peer, 1);
      });
    });
  }
}

function nameOf(address: string | undefined): string {
  if (address === undefined) return 'unknown'; // it has left already
  return canonicalAddress(address, CLIENT_BITS) ?? address;
}
