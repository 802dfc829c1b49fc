import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { memoryStore, type Store } from '@sluice/old-core';
import { LimiterCore, limitOfPolicy } from '@sluice/old-core/spi';
import { Access } from '../../../src/access.ts';
import { Stats } from '../../../src/stats/stats.ts';
import type { Configuration } from '../../../src/config/configuration.ts';
import { readConfiguration } from '../../../src/config/read-configuration.ts';
import { Health } from '../../../src/health/health.ts';
import { createHttpListener } from '../../../src/transport/http.ts';
import { nativeRoutes } from '../../../src/native/http/native-routes.ts';
import type { Service } from '../../../src/service.ts';

export interface HttpServiceOptions {
  readonly store?: Store;
  readonly token?: string;
  /** What processes without a token sign with. */
  readonly secret?: string;
  readonly isPrivate?: boolean;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
  readonly headers: Headers;
}

/** A service with `/v1` on a free port of the loopback. */
export interface HttpService {
  readonly service: Service;
  readonly port: number;
  /** Sends JSON, or a text as it is. */
  post(name: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  request(path: string, init?: RequestInit): Promise<Answer>;
  /** Uses another configuration from now on. */
  reload(yaml: string): void;
  close(): Promise<void>;
}

export async function serveHttp(
  yaml: string,
  { store = memoryStore(), token, secret, isPrivate = true, timeoutMs = 60_000 }: HttpServiceOptions = {},
): Promise<HttpService> {
  const core = new LimiterCore({ name: 'service', shared: true, store, timeoutMs, app: 'sluice-server' });
  core.claim();
  const configurationOf = (text: string): Configuration =>
    readConfiguration(text, { path: 'limits.yaml', limitOf: (policy) => limitOfPolicy(core, policy) });
  const service = {
    ...{
      store,
      core,
      configuration: configurationOf(yaml),
      health: new Health(),
      access: new Access(token, [], secret),
    },
    ...{ stats: new Stats(), timeoutMs },
  };
  const server: Server = createHttpListener(nativeRoutes(service, { isPrivate }), { maxInFlight: 1024 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const request = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, init);
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: text === '' ? undefined : JSON.parse(text),
      headers: response.headers,
    };
  };
  return {
    service,
    port,
    request,
    post: (name, body, headers = {}) =>
      request(`/v1/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    reload: (text) => {
      service.configuration = configurationOf(text);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      service.stats.close();
      await core.close();
    },
  };
}
