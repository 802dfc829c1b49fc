import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { memoryStore, type OnStoreError, type Store } from '@sluice/old-core';
import { LimiterCore, limitOfPolicy } from '@sluice/old-core/spi';
import { Access } from '../../src/access.ts';
import { Stats } from '../../src/stats/stats.ts';
import type { Configuration } from '../../src/config/configuration.ts';
import { readConfiguration } from '../../src/config/read-configuration.ts';
import { createForwardAuth } from '../../src/forward-auth/create-forward-auth.ts';
import { Health } from '../../src/health/health.ts';
import type { Service } from '../../src/service.ts';

/** Null: none. */
export type Addresses = string | readonly string[] | null;

type Fields = Readonly<Record<string, string | readonly string[]>>;

/** What a gateway asks about, and how. */
export interface AuthRequest {
  /** Of the original request. Default `GET /api/1` of 203.0.113.1. Null: the gateway does not state it. */
  readonly method?: string | null;
  readonly target?: string | null;
  readonly address?: Addresses;
  /** Of the original request. */
  readonly headers?: Fields;
  /** What is sent to the service. Default `GET /auth`. */
  readonly to?: { readonly method?: string; readonly path?: string; readonly body?: string };
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface AuthServiceOptions {
  readonly store?: Store;
  readonly onStoreError?: OnStoreError;
}

/** A service that answers gateways on the loopback, over the rules of a configuration. */
export class AuthService {
  readonly service: Service;
  readonly #server: Server;
  #configuration: Configuration;

  private constructor(written: string, { store = memoryStore(), onStoreError }: AuthServiceOptions) {
    const core = new LimiterCore({
      name: 'service',
      store,
      onStoreError,
      timeoutMs: 60_000,
      app: 'gateway',
      shared: true,
    });
    core.claim();
    this.#configuration = read(core, written);
    const current = (): Configuration => this.#configuration;
    this.service = {
      ...{ store, core, health: new Health(), access: new Access(undefined), stats: new Stats(), timeoutMs: 60_000 },
      get configuration() {
        return current();
      },
    };
    const auth = createForwardAuth(this.service);
    this.#server = createServer((asked, response) => {
      auth.handle(asked, response);
    });
  }

  /** @param written - The configuration, as a file has it. */
  static async start(written: string, options: AuthServiceOptions = {}): Promise<AuthService> {
    const started = new AuthService(written, options);
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  reload(written: string): void {
    this.#configuration = read(this.service.core, written);
  }

  /** Asks as a gateway does that sends `X-Forwarded-...`. */
  async ask({
    method = 'GET',
    target = '/api/1',
    address = '203.0.113.1',
    headers,
    to = {},
  }: AuthRequest = {}): Promise<Answer> {
    const fields = {
      ...(method === null ? {} : { 'X-Forwarded-Method': method }),
      ...(target === null ? {} : { 'X-Forwarded-Uri': target }),
      ...(address === null ? {} : { 'X-Forwarded-For': address }),
      ...headers,
    };
    return this.send(fields, to);
  }

  async statuses(count: number, asked: AuthRequest = {}): Promise<readonly number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await this.ask(asked)).status);
    return statuses;
  }

  async send(
    headers: Fields,
    { method = 'GET', path = '/auth', body }: AuthRequest['to'] & object = {},
  ): Promise<Answer> {
    const sent = request({
      ...{ host: '127.0.0.1', port: this.port, agent: false, method, path },
      headers: { ...headers } as Record<string, string | string[]>,
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [
      Parameters<typeof text>[0] & { statusCode: number; headersDistinct: Record<string, string[]> },
    ];
    const received = Object.entries(answer.headersDistinct).map(([name, values]) => [name, values.join(', ')] as const);
    return { status: answer.statusCode, headers: Object.fromEntries(received), body: await text(answer) };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.service.stats.close();
    await this.service.core.close();
  }
}

/** The detail of a problem. */
export function detailOf(body: string): string {
  return (JSON.parse(body) as { detail: string }).detail;
}

function read(core: LimiterCore, written: string): Configuration {
  const limitOf = (policy: unknown): ReturnType<typeof limitOfPolicy> => limitOfPolicy(core, policy);
  return readConfiguration(written, { path: 'limits.yaml', limitOf });
}
