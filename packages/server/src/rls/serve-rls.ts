import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type SecureServerOptions,
  type ServerOptions,
} from 'node:http2';
import { Server as NetServer } from 'node:net';
import type { Entrance } from '../access.ts';
import { makeHealthCheck } from '../health/grpc-health.ts';
import type { Service } from '../service.ts';
import { MAX_MESSAGE } from './bounds.ts';
import { callServer, type Method } from '../grpc/call.ts';
import { Sessions } from '../grpc/sessions.ts';
import { Clients } from '../transport/clients.ts';
import { makeRateLimitMethod } from './rate-limit-method.ts';

export interface RlsOptions {
  /** Where this server's requests come in. Default: not private. */
  readonly entrance?: Entrance;
  /** The clients of the process. Default: only those of this server. */
  readonly clients?: Clients;
  /** Serves TLS: key, certificate, and other options of `tls.createServer`. Default: HTTP/2 without TLS. */
  readonly tls?: SecureServerOptions;
  /** The maximum number of calls that wait for the store at once; others get `RESOURCE_EXHAUSTED`. Default 1024. */
  readonly maxInFlight?: number;
  /** How long calls may still take during a drain, in milliseconds. Default 10 000. */
  readonly drainMs?: number;
  /**
   * How often a connection without calls is pinged, in milliseconds; the second unanswered ping ends it. Default 5000.
   */
  readonly keepaliveMs?: number;
}

/** A server for Envoy's rate limit service and health checks. The caller starts it listening. */
export interface RlsServer {
  readonly server: Http2Server | Http2SecureServer;
  /** How many calls are open. */
  readonly openCalls: number;
  /**
   * Shuts down: reports NOT_SERVING, takes no more connections, asks clients to leave, and answers what they have sent,
   * within `drainMs`.
   */
  drain(): Promise<void>;
  /** Shuts down at once. */
  close(): Promise<void>;
}

/** The maximum concurrent calls per connection: others wait for these when it floods (ADR 63). */
const MAX_STREAMS = 100;
/** Bounds on the cost of one connection. A client that exceeds one loses its connection, or the stream. */
const HTTP2: ServerOptions = {
  maxHeaderListPairs: 64,
  maxSessionMemory: 4, // in megabytes
  maxSettings: 32,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: { enablePush: false, maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: 16_384 },
};
/** Detects clients that vanished without closing the connection. */
const TCP = { keepAlive: true, keepAliveInitialDelay: 60_000, noDelay: true };

const HANDSHAKE_MS = 10_000;

/** Serves `envoy.service.ratelimit.v3.RateLimitService` and `grpc.health.v1.Health`. */
export function serveRls(service: Service, options: RlsOptions): RlsServer {
  const { drainMs = 10_000, keepaliveMs = 5_000 } = options;
  const { clients = new Clients() } = options;
  const { health } = service;
  const server = getServer(options.tls);
  const sessions = new Sessions(keepaliveMs, clients);
  const rateLimit = makeRateLimitMethod(service, {
    entrance: options.entrance ?? { isPrivate: false },
    maxInFlight: options.maxInFlight ?? 1024,
  });
  const methods = new Map<string, Method>([
    ['/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit', rateLimit],
    ['/grpc.health.v1.Health/Check', makeHealthCheck(health)],
  ]);
  clients.boundConnections(server);
  server.on('stream', callServer(methods, sessions, { clients, longestMessage: MAX_MESSAGE }));
  server.on('session', (session) => {
    sessions.add(session);
  });
  server.on('sessionError', () => undefined); // the connection has ended, which its client has caused

  const stop = (): void => {
    health.isServing = false;
    // The `close` of the net module: that of newer HTTP/2 servers ends connections while calls are on their way.
    NetServer.prototype.close.call(server);
  };
  return {
    server,
    get openCalls() {
      return clients.calls.all;
    },
    async drain() {
      stop();
      await sessions.drain(drainMs);
    },
    async close() {
      stop();
      await sessions.drain(0);
    },
  };
}

function getServer(tls: SecureServerOptions | undefined): Http2Server | Http2SecureServer {
  return tls === undefined
    ? createServer({ ...HTTP2, ...TCP })
    : createSecureServer({ ...tls, ...HTTP2, ...TCP, handshakeTimeout: HANDSHAKE_MS, allowHTTP1: false });
}
