import { warnOnce } from '../warnings.ts';
import type { Framework, RawRequest } from './framework.ts';
import { addressBits, isIpv4 } from './keys/address.ts';

const UNIX_SOCKET = 'a Unix socket';
const FORWARDED_FOR = 'x-forwarded-for';

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

  examine(request: Request, raw: RawRequest): void {
    if (!this.#hasAskedForTrust) {
      this.#hasAskedForTrust = true;
      this.#examineTrust(request);
    }
    if (!this.#hasFoundProxy && mayHaveField(raw, FORWARDED_FOR)) this.#examineProxy(request);
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
    const named = this.#framework.header(request, FORWARDED_FOR);
    if (named === undefined) return;
    const { socket } = this.#framework.rawRequest(request);
    // On a Unix socket nobody has an address but those whom the proxy names.
    const peer = socket?.destroyed === false ? (socket.remoteAddress ?? UNIX_SOCKET) : undefined;
    if (peer === undefined || (peer !== UNIX_SOCKET && !isPrivate(peer))) return;
    if ((this.#framework.address(request) ?? UNIX_SOCKET) !== peer) return;
    // A proxy's own question, a health check perhaps: who is believed cannot be told.
    if (named.split(',').some((address) => address.trim() === peer)) return;
    this.#hasFoundProxy = true;
    if (peer === UNIX_SOCKET) {
      warnOnce(
        'SLUICE_PROXY_NOT_TRUSTED',
        'a request came over a Unix socket with X-Forwarded-For, which the application does not believe: no client has an address, and limits by address answer 403 to all. ' +
          'Trust the first hop, by a function of address and hop: (address, hop) => hop === 0.',
        UNIX_SOCKET,
      );
      return;
    }
    warnOnce(
      'SLUICE_PROXY_NOT_TRUSTED',
      `a request came from ${peer} with X-Forwarded-For, which the application does not believe: behind a proxy, all clients share the proxy's budget. ` +
        'Set the trust of your framework to the addresses of your proxies; if there is no proxy, silence this warning.',
    );
  }
}

/** Whether a request has a header field: as it came, for Node makes an object of the fields only when somebody reads it. */
function mayHaveField({ rawHeaders }: RawRequest, name: string): boolean {
  if (rawHeaders === undefined) return true;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const written = rawHeaders[i] as string;
    if (written.length === name.length && written.toLowerCase() === name) return true;
  }
  return false;
}

/** What is believed of a hop far away, from an address that nobody has, is believed of all. */
function believesAnybody(trust: unknown): boolean {
  if (typeof trust !== 'function') return false;
  try {
    return (trust as (address: string, hop: number) => unknown)('192.0.2.1', 100) === true;
  } catch {
    return false; // it knows its hops, and this is none of them
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

let builtForOneRequest = 0;

/**
 * Watches for middleware that is built for each request anew, and so never counts past one: it is used in the very turn
 * in which it was made. Answers what to call at each use.
 */
export function expectLongLife(): () => void {
  let isNew = true;
  queueMicrotask(() => {
    isNew = false;
  });
  return () => {
    if (!isNew) return;
    isNew = false;
    builtForOneRequest++;
    // Once may be a test.
    if (builtForOneRequest < 2) return;
    warnOnce(
      'SLUICE_LIMITER_PER_REQUEST',
      'rateLimit() is called for every request, so each has a limiter and a memory of its own, and none is ever refused. ' +
        'Call it once, outside the handler, and use what it returns.',
    );
  };
}
