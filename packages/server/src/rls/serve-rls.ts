import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerOptions,
} from 'node:http2';
import type { Entrance } from '../access.ts';
import { callServer, type Method } from '../grpc/call.ts';
import { LOST_PINGS, Sessions } from '../grpc/sessions.ts';
import { makeHealthCheck } from '../health/grpc-health.ts';
import type { Service } from '../service.ts';
import type { TlsSettings } from '../transport/certificates.ts';
import type { Clients } from '../transport/clients.ts';
import { drainServer } from '../transport/drain.ts';
import type { Made } from '../transport/http.ts';
import { rateLimitMethod } from './rate-limit-method.ts';

export interface RlsOptions {
  readonly entrance: Entrance;
  readonly clients: Clients;
  /** Undefined: HTTP/2 without TLS. */
  readonly tls: TlsSettings | undefined;
  /** Calls that wait for the store at once; others get `RESOURCE_EXHAUSTED`. */
  readonly maxInFlight: number;
  /**
   * How often a connection is asked whether it is still there, in milliseconds; the second time without
   * an answer ends it. Default 5000.
   */
  readonly keepaliveMs?: number;
}

/** Calls at once of a connection: what others wait for when it floods (ADR 63). */
const MAX_STREAMS = 100;
/** Bounds on the cost of one connection. A client that exceeds one loses its connection, or the stream. */
const HTTP2: ServerOptions = {
  maxHeaderListPairs: 64,
  maxSessionMemory: 4, // in megabytes
  maxSettings: 32,
  maxOutstandingPings: LOST_PINGS,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: { enablePush: false, maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 16_384 },
};
/** Detects clients that vanished without closing the connection. */
const TCP = { keepAlive: true, keepAliveInitialDelay: 60_000, noDelay: true };

const HANDSHAKE_MS = 10_000;

/** Serves `envoy.service.ratelimit.v3.RateLimitService` and `grpc.health.v1.Health`. */
export function serveRls(service: Service, options: RlsOptions): Made {
  const { tls, clients, entrance, maxInFlight, keepaliveMs = 5_000 } = options;
  const server = createServerOf(tls);
  const sessions = new Sessions(keepaliveMs, clients);
  const methods = new Map<string, Method>([
    ['/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit', rateLimitMethod(service, entrance, maxInFlight)],
    ['/grpc.health.v1.Health/Check', makeHealthCheck(service.health)],
  ]);
  clients.boundConnections(server);
  server.on('stream', callServer(methods, sessions, clients));
  server.on('session', (session) => {
    sessions.add(session);
  });
  server.on('sessionError', () => undefined); // the connection has ended, which its client has caused
  return {
    server,
    close: async (drainMs) => {
      sessions.leave();
      await drainServer(server, drainMs, () => {
        sessions.destroy();
      });
      sessions.close();
    },
  };
}

function createServerOf(tls: TlsSettings | undefined): Http2Server | Http2SecureServer {
  if (tls === undefined) return createServer({ ...HTTP2, ...TCP });
  const secure = { ...tls, rejectUnauthorized: tls.requestCert, handshakeTimeout: HANDSHAKE_MS, allowHTTP1: false };
  return createSecureServer({ ...secure, ...HTTP2, ...TCP });
}
