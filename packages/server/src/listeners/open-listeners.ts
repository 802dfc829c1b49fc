import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { makeMetricsRoute } from '../admin/metrics-route.ts';
import { authRoutes } from '../forward-auth/auth-route.ts';
import { makeHealthRoute } from '../health/health.ts';
import { nativeRoutes } from '../native/routes.ts';
import type { ListenerName, Settings } from '../options.ts';
import { makeJsonRoute } from '../rls/json/json-route.ts';
import { serveRls } from '../rls/serve-rls.ts';
import { serveSentinel } from '../sentinel/serve-sentinel.ts';
import type { Service } from '../service.ts';
import { isLocal, type Address } from '../transport/address.ts';
import { followTls, readTls, type SecureServer } from '../transport/certificates.ts';
import { Clients } from '../transport/clients.ts';
import { serveHttp, type Made, type Route } from '../transport/http.ts';

/** A listener that accepts connections. */
export interface Listener {
  readonly name: ListenerName;
  readonly address: Address;
  /** Accepts no more connections, answers running requests, and ends the rest after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

/**
 * Opens every listener that the settings ask for.
 *
 * @param page - The routes of the operators' page.
 * @throws (rejects) if one of them cannot listen; then none does.
 */
export async function openListeners(
  service: Service,
  settings: Settings,
  page: readonly Route[],
): Promise<readonly Listener[]> {
  const { log, maxInFlight } = settings;
  const tls = settings.tls === undefined ? undefined : readTls(settings.tls);
  const clients = new Clients(() => service.configuration.forwardAuth?.trustedProxies);
  const http = { maxInFlight, clients };
  const make: Readonly<Record<ListenerName, (isPrivate: boolean) => Made>> = {
    grpc: (isPrivate) => serveRls(service, { entrance: { isPrivate }, clients, tls, maxInFlight }),
    http: (isPrivate) => {
      const json = makeJsonRoute(service, { isPrivate });
      return serveHttp([json, ...authRoutes(service, clients), ...commonRoutes(service, isPrivate)], {
        ...http,
        tls,
      });
    },
    sentinel: () => serveSentinel(service, settings.sentinelTimeoutMs, clients),
    admin: (isPrivate) => serveHttp([...commonRoutes(service, isPrivate), ...page], http),
  };
  const listeners = (Object.keys(make) as ListenerName[]).flatMap((name) => {
    const address = settings.listeners[name];
    if (address === undefined) return [];
    return [{ name, address, made: make[name](isLocal(address)) }];
  });
  const opened = await Promise.allSettled(
    listeners.map(async ({ name, address, made }): Promise<Listener> => {
      made.server.listen({ ...address });
      await once(made.server, 'listening').catch((cause: unknown) => {
        const { message, code } = cause as NodeJS.ErrnoException;
        throw Object.assign(new Error(`${name}: ${message}`, { cause }), { code });
      });
      const { port } = made.server.address() as AddressInfo; // that of the system for port 0
      return { name, address: { host: address.host, port }, close: (graceMs) => made.close(graceMs) };
    }),
  );
  const open = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = opened.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await Promise.all(open.map(async (listener) => listener.close(0)));
    throw failed.reason;
  }
  if (settings.tls !== undefined && tls !== undefined) {
    const secure = listeners.map(({ made }) => made.server).filter(isSecure);
    const stop = followTls(settings.tls, tls, secure, log);
    for (const server of secure) server.once('close', stop);
  }
  return open;
}

/** The routes that the listeners of programs and operators share. */
function commonRoutes(service: Service, isPrivate: boolean): readonly Route[] {
  const entrance = { isPrivate };
  return [makeHealthRoute(service.health), makeMetricsRoute(service, entrance), ...nativeRoutes(service, entrance)];
}

function isSecure(server: Server): server is Server & SecureServer {
  return typeof (server as Partial<SecureServer>).setSecureContext === 'function';
}
