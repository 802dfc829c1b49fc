import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store } from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { Access } from '../src/access.ts';
import { buildConfiguration, type Configuration } from '../src/config/configuration.ts';
import { readConfiguration } from '../src/config/read-configuration.ts';
import { RequestRules } from '../src/config/request-rules.ts';
import { createServer, type RunningServer, type ServerOptions } from '../src/index.ts';
import { makeLimitMaker } from '../src/limits.ts';
import type { Service } from '../src/service.ts';
import { Stats } from '../src/stats/stats.ts';

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
  readonly headers: Headers;
}

/** A service of a file of its own, as programs reach it. */
export interface Served {
  readonly server: RunningServer;
  /** Sends JSON, or a text as it is, to `/v1/...`. */
  post(name: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  request(path: string, init?: RequestInit): Promise<Answer>;
  /** Uses another configuration from now on. */
  reload(yaml: string): Promise<void>;
  close(): Promise<void>;
}

/** Serves HTTP alone, on the loopback, unless the options say else: a listener on `0.0.0.0` is for strangers. */
export async function serve(yaml: string, options: Partial<ServerOptions> = {}): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-server-'));
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, yaml);
  const server = await createServer({
    ...{ config, http: 0, grpc: 'off', admin: 'off', timeoutMs: 60_000, drainMs: 0, log: () => undefined },
    ...options,
  });
  const url = `http://${String(server.addresses.http).replace('0.0.0.0', '127.0.0.1')}`;
  const request = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(url + path, init);
    const text = await response.text();
    const type = response.headers.get('content-type');
    const body: unknown = type?.includes('json') === true ? JSON.parse(text) : text;
    return { status: response.status, type, body, headers: response.headers };
  };
  return {
    server,
    request,
    post: (name, body, headers = {}) =>
      request(`/v1/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    reload: async (changed) => {
      writeFileSync(config, changed);
      await server.reload();
    },
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export type MadeService = Service & { configuration: Configuration };

/** What one listener decides with, without the others. */
export function makeService(
  yaml: string,
  {
    store = memoryStore(),
    timeoutMs = 60_000,
    token,
    shared = true,
  }: { store?: Store; timeoutMs?: number; token?: string | undefined; shared?: boolean } = {},
): MadeService {
  const core = new LimiterCore({ name: 'service', shared, store, timeoutMs });
  core.claim();
  const health = { isServing: true };
  const requestRules = new RequestRules(makeLimitMaker(core));
  const configuration = configurationOf(yaml, core);
  return { core, requestRules, configuration, health, access: new Access(token), stats: new Stats(), timeoutMs };
}

export function configurationOf(yaml: string, core: LimiterCore): Configuration {
  return buildConfiguration(readConfiguration([{ path: 'limits.yaml', text: yaml }]), makeLimitMaker(core));
}
