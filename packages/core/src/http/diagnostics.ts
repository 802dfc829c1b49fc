import { warnOnce } from '../warnings.ts';
import type { FrameworkReader, RawRequest } from './framework.ts';
import { addressBits, isIpv4 } from './keys/address.ts';

const UNIX_SOCKET = 'a Unix socket';
const FORWARDED_FOR = 'x-forwarded-for';
/** The first requests are all checked, later ones only from time to time. */
const FIRST = 128;
const EVERY = 64;

/**
 * Warns once about settings of the application with which clients escape limits, or share one by mistake. Finds them
 * from the requests.
 */
export class Diagnostics<Request, Response> {
  readonly #framework: FrameworkReader<Request, Response>;
  #hasCheckedTrust = false;
  /** Requests that were looked at, of the first ones. */
  #checked = 0;
  /** Requests until the next one that is looked at. */
  #untilNext = 0;

  constructor(framework: FrameworkReader<Request, Response>) {
    this.#framework = framework;
  }

  check(request: Request, raw: RawRequest): void {
    if (this.#untilNext-- > 0) return;
    this.#untilNext = this.#checked < FIRST ? 0 : EVERY - 1;
    this.#checked++;
    if (!this.#hasCheckedTrust) {
      this.#hasCheckedTrust = true;
      this.#checkTrust(request);
    }
    if (mayHaveField(raw, FORWARDED_FOR) && this.#hasUntrustedProxy(request)) this.#untilNext = Infinity;
  }

  #checkTrust(request: Request): void {
    const trust = this.#framework.proxyTrust?.(request);
    if (trust === true || trustsAllHops(trust)) {
      warnOnce(
        'SLUICE_PROXY_TRUSTS_ALL',
        'the application trusts every proxy, so a client can choose its own address with X-Forwarded-For, and gets a new budget with each. ' +
          'Trust the addresses of your proxies instead.',
      );
    } else if (typeof trust === 'number') {
      warnOnce(
        'SLUICE_PROXY_HOP_COUNT',
        'trustProxy is a number, which Fastify 5.12 and later ignore: all clients behind the proxy have its address, and share one budget. ' +
          'Trust the addresses of your proxies instead.',
      );
    }
  }

  /** Whether a proxy on a private network names its client, and the application does not trust it: warns of that. */
  #hasUntrustedProxy(request: Request): boolean {
    const named = this.#framework.header(request, FORWARDED_FOR);
    if (named === undefined) return false;
    const { socket } = this.#framework.rawRequest(request);
    // On a Unix socket, only clients that the proxy names have an address.
    const peer = socket?.destroyed === false ? (socket.remoteAddress ?? UNIX_SOCKET) : undefined;
    if (peer === undefined || (this.#framework.address(request) ?? UNIX_SOCKET) !== peer) return false;
    if (peer !== UNIX_SOCKET && !isPrivate(peer)) return false;
    // A request of the proxy itself, such as a health check: it does not show whether the proxy is trusted.
    if (named.split(',').some((address) => address.trim() === peer)) return false;
    if (peer === UNIX_SOCKET) {
      warnOnce(
        'SLUICE_PROXY_NOT_TRUSTED',
        'a request came over a Unix socket with X-Forwarded-For, which the application does not trust: no client has an address, so limits by address respond 403 to all requests. ' +
          'Trust the first hop with a function: (address, hop) => hop === 0.',
        UNIX_SOCKET,
      );
      return true;
    }
    warnOnce(
      'SLUICE_PROXY_NOT_TRUSTED',
      `a request came from ${peer} with X-Forwarded-For, which the application does not trust: behind a proxy, all clients share the proxy's budget. ` +
        'Set the proxy trust of your framework to the addresses of your proxies. Without a proxy, silence this warning.',
    );
    return true;
  }
}

/** Whether a request may have a header field. Reads `rawHeaders`, because `headers` is built on its first use. */
function mayHaveField({ rawHeaders }: RawRequest, name: string): boolean {
  if (rawHeaders === undefined) return true;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const written = rawHeaders[i] as string;
    if (written.length === name.length && written.toLowerCase() === name) return true;
  }
  return false;
}

/** Whether a trust function trusts all hops: it then trusts a far hop with an address reserved for documentation. */
function trustsAllHops(trust: unknown): boolean {
  if (typeof trust !== 'function') return false;
  try {
    return (trust as (address: string, hop: number) => unknown)('192.0.2.1', 100) === true;
  } catch {
    return false; // it does not accept an unknown hop
  }
}

/** Loopback, private, unique local and link-local addresses. */
function isPrivate(address: string): boolean {
  const bits = addressBits(address);
  if (bits === undefined) return false;
  const [first = 0, , , , , , high = 0, last = 0] = bits;
  if (!isIpv4(bits)) {
    const isLoopback = last === 1 && bits.every((group, i) => group === 0 || i === 7);
    return isLoopback || (first & 0xfe00) === 0xfc00 || (first & 0xffc0) === 0xfe80;
  }
  const a = high >> 8;
  const b = high & 255;
  return (
    a === 10 || a === 127 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 169 && b === 254)
  );
}
