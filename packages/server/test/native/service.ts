import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@sluice/old-core';
import { LimiterCore } from '@sluice/old-core/spi';
import { freePort } from '@sluice/testkit';
import { Stats } from '../../src/stats/stats.ts';
import { Access, type Entrance } from '../../src/access.ts';
import type { Configuration, NamedLimit } from '../../src/config/configuration.ts';
import { Health } from '../../src/health/health.ts';
import { serveFrames } from '../../src/native/frames.ts';
import type { Service } from '../../src/service.ts';

export interface ServiceOptions {
  readonly token?: string;
  readonly limits?: readonly NamedLimit[];
  readonly timeoutMs?: number;
}

export function configurationOf(limits: readonly NamedLimit[] = []): Configuration {
  return {
    domains: new Map(),
    limits: new Map(limits.map((limit) => [limit.name, limit])),
    forwardAuth: undefined,
    sentinel: { flows: new Map(), params: new Map(), namespaces: new Map() },
    written: () => '',
  };
}

/** A service that takes requests. */
export function serviceOf(store: Store, { token, limits, timeoutMs = 60_000 }: ServiceOptions = {}): Service {
  const health = new Health();
  health.isServing = true;
  return {
    store,
    core: new LimiterCore({ name: 'service', store, timeoutMs }),
    configuration: configurationOf(limits),
    health,
    access: new Access(token),
    stats: new Stats(),
    timeoutMs,
  };
}

/** A native listener that runs. */
export interface FrameListener {
  readonly service: Service;
  readonly port: number;
  readonly url: string;
  readonly connections: ReadonlySet<Socket>;
  /** Stops listening, and ends all connections. */
  close(): Promise<void>;
}

export const PRIVATE: Entrance = { isPrivate: true };

/** Serves frames on a free port of the loopback. */
export async function listenForFrames(
  service: Service,
  { entrance = PRIVATE, port: given }: { readonly entrance?: Entrance; readonly port?: number } = {},
): Promise<FrameListener> {
  const { server, connections } = frameServer(service, entrance);
  const port = given ?? (await freePort());
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    service,
    port,
    url: `sluice://127.0.0.1:${String(port)}`,
    connections,
    close: () => closed({ service, server, connections }),
  };
}

function frameServer(service: Service, entrance: Entrance): { server: Server; connections: Set<Socket> } {
  const connections = new Set<Socket>();
  const serve = serveFrames(service, entrance);
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    serve(socket);
  });
  return { server, connections };
}

/** Of a service what outlives its server is what it counts: the channels of a process are one for all its tests. */
async function closed({ service, server, connections }: Opened): Promise<void> {
  service.stats.close();
  const closing = server.listening ? once(server, 'close') : undefined;
  server.close();
  for (const socket of connections) socket.destroy();
  await closing;
}

interface Opened {
  readonly service: Service;
  readonly server: Server;
  readonly connections: ReadonlySet<Socket>;
}

/** Listeners at paths, which listen from the call on. */
export class PathListeners {
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'sluice-frames-'));
  readonly #open: Opened[] = [];

  /** The URL of a listener for this service. */
  urlOf(service: Service): string {
    const path = join(this.#folder, `${String(this.#open.length)}.sock`);
    const opened = frameServer(service, PRIVATE);
    opened.server.listen(path);
    this.#open.push({ service, ...opened });
    return `sluice+unix:${path}`;
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map(closed));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
