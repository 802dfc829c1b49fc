import { warnOnce } from '../warnings.ts';
import type { Framework } from './framework.ts';
import { addressBits, isIpv4 } from './keys/address.ts';

/**
 * Looks at requests for settings of the application under which clients escape limits, or share one by mistake, and
 * warns of them once.
 */
export class Doctor<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  #hasAskedForTrust = false;
  #hasFoundProxy = false;

  constructor(framework: Framework<Request, Response>) {
    this.#framework = framework;
  }

  examine(request: Request): void {
    if (!this.#hasAskedForTrust) {
      this.#hasAskedForTrust = true;
      this.#examineTrust(request);
    }
    if (!this.#hasFoundProxy) this.#examineProxy(request);
  }

  #examineTrust(request: Request): void {
    const trust = this.#framework.proxyTrust?.(request);
    if (trust === true || believesAnybody(trust)) {
      warnOnce(
        'SLUICE_PROXY_TRUSTS_ALL',
        'the application trusts every proxy, so a client that sends X-Forwarded-For chooses its own address, and a budget of its own with each. ' +
          'Trust the addresses of your proxies instead.',
      );
    } else if (typeof trust === 'number') {
      warnOnce(
        'SLUICE_PROXY_HOP_COUNT',
        'trustProxy is a number, which Fastify 5.12 no longer heeds: all clients behind the proxy have its address, and share one budget. ' +
          'Trust the addresses of your proxies instead.',
      );
    }
  }

  /** A proxy that names its client, on a private network, and is not believed. */
  #examineProxy(request: Request): void {
    const named = this.#framework.header(request, 'x-forwarded-for');
    if (named === undefined) return;
    const peer = this.#framework.rawRequest(request).socket?.remoteAddress;
    if (peer === undefined || peer !== this.#framework.address(request) || !isPrivate(peer)) return;
    // A proxy's own question, a health check perhaps: who is believed cannot be told.
    if (named.split(',').some((address) => address.trim() === peer)) return;
    this.#hasFoundProxy = true;
    warnOnce(
      'SLUICE_PROXY_NOT_TRUSTED',
      `a request came from ${peer} with X-Forwarded-For, which the application does not believe: behind a proxy, all clients share the proxy's budget. ` +
        'Set the trust of your framework to the addresses of your proxies; if there is no proxy, silence this warning.',
    );
  }
}

/** What is believed of a hop far away, from an address that nobody has, is believed of all. */
function believesAnybody(trust: unknown): boolean {
  return typeof trust === 'function' && (trust as (address: string, hop: number) => unknown)('192.0.2.1', 100) === true;
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
