import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type ListenerName, type RunningServer, type ServerOptions } from '../src/index.ts';

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
  readonly headers: Headers;
}

/** A service of a file of its own, as programs reach it. */
export interface Served {
  readonly server: RunningServer;
  /** The port of a listener. */
  port(listener: ListenerName): number;
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
  const port = (listener: ListenerName): number => Number(server.addresses[listener]?.split(':').at(-1));
  const request = async (path: string, init?: RequestInit): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${String(port('http'))}${path}`, init);
    const text = await response.text();
    const type = response.headers.get('content-type');
    const body: unknown = type?.includes('json') === true ? JSON.parse(text) : text;
    return { status: response.status, type, body, headers: response.headers };
  };
  return {
    ...{ server, port, request },
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
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
