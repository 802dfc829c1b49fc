import { warnOnce } from '../warnings.ts';
import { joinLines, type AnyReader } from './framework.ts';
import { ClientList } from './keys/client-list.ts';

/** Loopback, private, unique local and link-local addresses. */
const PRIVATE = /* @__PURE__ */ new ClientList(
  '127.0.0.0/8 ::1 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 169.254.0.0/16 fe80::/10'.split(' '),
  'private',
);

/**
 * Warns once about settings that let clients escape limits, or share one by mistake, as far as a request shows them.
 */
export function warnAboutProxies(framework: AnyReader, request: object, isFirst: boolean): void {
  if (isFirst) checkTrust(readTrust(framework.proxyTrust?.(request)));
  const named = joinLines(framework.header(request, 'x-forwarded-for'));
  if (named === undefined) return;
  const { socket } = framework.rawRequest(request);
  const peer = socket?.destroyed === false ? socket.remoteAddress : undefined;
  if (peer === undefined || framework.address(request) !== peer || !PRIVATE.hasAddress(peer)) return;
  // A request of the proxy itself, such as a health check: it does not show whether the proxy is trusted.
  if (named.split(',').some((address) => address.trim() === peer)) return;
  const what = `a request came from ${peer} with X-Forwarded-For, which the application does not trust`;
  const effect = 'behind a proxy, all clients share its budget';
  const instead = 'Set the proxy trust of your framework to the addresses of your proxies, or to the first hop';
  warnOnce('SLUICE_PROXY_NOT_TRUSTED', `${what}: ${effect}. ${instead}. Without a proxy, silence this warning.`);
}

/** For a Fastify application, its option `trustProxy`, which is stored under a symbol that may not be found. */
function readTrust(given: unknown): unknown {
  if (typeof given !== 'object') return given;
  for (let at = given; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(({ description }) => description === 'fastify.options');
    if (symbol !== undefined) return (at as Record<symbol, { trustProxy?: unknown } | undefined>)[symbol]?.trustProxy;
  }
  return undefined;
}

/**
 * Warns if every proxy is trusted. A function trusts every proxy if it trusts a distant hop whose address is reserved
 * for documentation.
 */
function checkTrust(trust: unknown): void {
  try {
    if (
      trust !== true &&
      (typeof trust !== 'function' || (trust as (address: string, hop: number) => unknown)('192.0.2.1', 100) !== true)
    )
      return;
  } catch {
    return; // it does not accept an unknown hop
  }
  warnOnce(
    'SLUICE_PROXY_TRUSTS_ALL',
    'the application trusts every proxy, so a client can choose its own address with X-Forwarded-For, and gets a new budget with each. ' +
      'Trust the addresses of your proxies instead.',
  );
}
