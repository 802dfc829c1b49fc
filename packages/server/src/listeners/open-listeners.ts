import type { Server } from 'node:net';
import { limitOfPolicy } from '@sluice/old-core/spi';
import { adminRoutes, metricsRoute } from '../admin/routes.ts';
import { RequestRules } from '../config/request-rules.ts';
import { healthRoute } from '../health/health-route.ts';
import { createForwardAuth } from '../forward-auth/create-forward-auth.ts';
import { decideRoute } from '../native/http/decide-route.ts';
import { nativeRoutes } from '../native/http/native-routes.ts';
import { hasTls, type ListenerName, type Settings } from '../options.ts';
import { countDecided } from '../rls/count-decided.ts';
import type { Decided } from '../rls/decide.ts';
import { jsonRoute } from '../rls/json/json-route.ts';
import type { OverrideRules } from '../rls/plan.ts';
import { serveRls } from '../rls/serve-rls.ts';
import { serveSentinel } from '../sentinel/serve-sentinel.ts';
import type { Service } from '../service.ts';
import { isLocal, type Address } from '../transport/address.ts';
import { followTls, noticesOf, readTls, type SecureServer, type TlsSettings } from '../transport/certificates.ts';
import { WaitingBodies } from '../transport/bodies.ts';
import { Clients } from '../transport/clients.ts';
import { closeHttp } from '../transport/close-http.ts';
import { Connections } from '../transport/connections.ts';
import { createHttpListener, type Route } from '../transport/http.ts';
import { listenAt } from '../transport/listen.ts';

/** A listener that accepts connections. */
export interface Listener {
  readonly name: ListenerName;
  readonly address: Address;
  /** Accepts no more connections, answers what runs, and ends what is left after `drainMs`. */
  close(drainMs: number): Promise<void>;
}

/** A server that is made, and does not listen yet. */
interface Made {
  readonly server: Server;
  close(drainMs: number): Promise<void>;
}

/** The part of the rate limit service that gRPC and JSON share. */
interface Rls {
  readonly overrides: OverrideRules;
  readonly decided: (decided: Decided) => void;
}

/** What waits for clients of any listener. */
interface Waits {
  readonly connections: Connections;
  readonly bodies: WaitingBodies;
}

type Make = (
  service: Service,
  settings: Settings,
  at: {
    readonly isPrivate: boolean;
    readonly tls: TlsSettings | undefined;
    readonly rls: Rls;
    readonly waits: Waits;
    readonly page: readonly Route[];
  },
) => Made;

const MAKE: Readonly<Record<ListenerName, Make>> = {
  grpc: madeOfRls,
  http: (service, { maxInFlight }, { isPrivate, tls, rls, waits }) =>
    madeOfRoutes(httpRoutes(service, { isPrivate }, rls, waits.bodies), {
      ...{ maxInFlight, tls },
      connections: waits.connections,
    }),
  sentinel: (service) => serveSentinel(service),
  admin: (service, { maxInFlight }, { isPrivate, waits, page }) =>
    madeOfRoutes([...adminRoutes(service, { isPrivate }, waits.bodies), ...page], {
      maxInFlight,
      connections: waits.connections,
    }),
};

/**
 * Opens every listener that the settings ask for.
 *
 * @param page - The routes of the operators' page.
 * @throws (rejects) when one of them cannot listen; then none does.
 */
export async function openListeners(
  service: Service,
  settings: Settings,
  page: readonly Route[],
): Promise<readonly Listener[]> {
  const tls = settings.tls === undefined ? undefined : readTls(settings.tls);
  for (const notice of noticesOf(tls ?? {})) settings.log(notice);
  const rls: Rls = {
    overrides: new RequestRules((policy) => limitOfPolicy(service.core, policy)),
    decided: (decided) => {
      countDecided(service.stats, decided);
    },
  };
  const clients = new Clients(() => service.configuration.forwardAuth?.trustedProxies);
  const waits: Waits = { connections: new Connections(clients), bodies: new WaitingBodies(clients) };
  const made = Object.entries(MAKE).flatMap(([key, make]) => {
    const name = key as ListenerName;
    const address = settings.listeners[name];
    if (address === undefined) return [];
    const at = { isPrivate: isLocal(address), tls: hasTls(name, settings.tls) ? tls : undefined, rls, waits, page };
    return [{ name, address, made: make(service, settings, at) }];
  });
  const stop =
    settings.tls === undefined || tls === undefined
      ? undefined
      : followTls(settings.tls, tls, made.map((one) => one.made.server).filter(isSecure), settings.log);
  const opened = await Promise.allSettled(
    made.map(async ({ name, address, made: one }): Promise<Listener> => {
      const at = await listenAt(one.server, address).catch((error: unknown) => {
        throw namingListener(error as NodeJS.ErrnoException, name);
      });
      return { name, address: at, close: async (drainMs) => one.close(drainMs) };
    }),
  );
  const failed = opened.find((one) => one.status === 'rejected');
  const listeners = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (failed !== undefined) {
    stop?.();
    await Promise.all(listeners.map(async (listener) => listener.close(0)));
    throw failed.reason;
  }
  return listeners.map((listener, i) => ({
    ...listener,
    close: async (drainMs) => {
      if (i === 0) stop?.();
      await listener.close(drainMs);
    },
  }));
}

/** The same error, which says which listener it is about. */
function namingListener(error: NodeJS.ErrnoException, name: ListenerName): NodeJS.ErrnoException {
  return Object.assign(new Error(`${name}: ${error.message}`, { cause: error }), { code: error.code });
}

function madeOfRls(
  service: Service,
  { maxInFlight, maxConnectionAgeMs, drainMs }: Settings,
  { isPrivate, tls, rls, waits }: Parameters<Make>[2],
): Made {
  const served = serveRls(service, {
    entrance: { isPrivate },
    connections: waits.connections,
    overrides: rls.overrides,
    ...(tls === undefined ? {} : { tls: { ...tls, rejectUnauthorized: tls.requestCert } }),
    maxInFlight,
    maxConnectionAgeMs: maxConnectionAgeMs === 0 ? Infinity : maxConnectionAgeMs,
    connectionGraceMs: drainMs,
    observer: rls,
  });
  return { server: served.server, close: (graceMs) => (graceMs === 0 ? served.close() : served.drain()) };
}

function httpRoutes(
  service: Service,
  entrance: { readonly isPrivate: boolean },
  { overrides, decided }: Rls,
  waiting: WaitingBodies,
): readonly Route[] {
  const auth = createForwardAuth(service);
  const forwardAuth: Route['handle'] = (request, response) => {
    auth.handle(request, response);
  };
  return [
    healthRoute(service.health),
    jsonRoute(service, { entrance, overrides, bodies: { waiting }, decided }),
    { path: '/auth', handle: forwardAuth },
    { path: '/auth/', handle: forwardAuth },
    metricsRoute(service, entrance),
    decideRoute(service, entrance, waiting),
    ...nativeRoutes(service, entrance, waiting),
  ];
}

function madeOfRoutes(routes: readonly Route[], options: Parameters<typeof createHttpListener>[1]): Made {
  const server = createHttpListener(routes, options);
  return { server, close: (drainMs) => closeHttp(server, drainMs) };
}

function isSecure(server: Server): server is Server & SecureServer {
  return typeof (server as Partial<SecureServer>).setSecureContext === 'function';
}
