import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createHttpListener } from '../../../src/transport/http.ts';
import type { Decided } from '../../../src/rls/decide.ts';
import { jsonRoute, type JsonRouteOptions } from '../../../src/rls/json/json-route.ts';
import { overridesOf, runService, type RunOptions, type RunningService } from '../running-service.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Sent {
  readonly body?: string | Uint8Array;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface JsonServiceOptions extends RunOptions {
  readonly bodies?: JsonRouteOptions['bodies'];
  readonly isPrivate?: boolean;
  /** Requests at once. */
  readonly most?: number;
}

/** A service that answers gRPC on one port and `/json` on another. */
export class JsonService {
  readonly rls: RunningService;
  /** What was decided over JSON. */
  readonly decided: Decided[] = [];
  readonly #server: Server;

  private constructor(rls: RunningService, { bodies, isPrivate = false, most = 1024 }: JsonServiceOptions) {
    this.rls = rls;
    const { core } = rls.service;
    const route = jsonRoute(rls.service, {
      entrance: { isPrivate },
      overrides: overridesOf(core),
      ...(bodies === undefined ? {} : { bodies }),
      decided: (decided) => this.decided.push(decided),
    });
    this.#server = createHttpListener([route], { maxInFlight: most });
  }

  static async start(yaml: string, options: JsonServiceOptions = {}): Promise<JsonService> {
    const { bodies, isPrivate = false, most, ...more } = options;
    const started = new JsonService(await runService(yaml, { entrance: { isPrivate }, ...more }), {
      isPrivate,
      ...(bodies === undefined ? {} : { bodies }),
      ...(most === undefined ? {} : { most }),
    });
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sends a request as JSON, or these bytes. */
  async ask(json: unknown, headers: Readonly<Record<string, string>> = {}): Promise<JsonAnswer> {
    return send(this.port, { body: JSON.stringify(json), headers });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.rls.close();
  }
}

/** Sends a request to `/json`. */
export async function send(port: number, { body, method = 'POST', headers = {} }: Sent): Promise<JsonAnswer> {
  const sent = request({ host: '127.0.0.1', port, path: '/json', agent: false, method, headers });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.on('error', () => undefined); // of a body that is not read to its end
  sent.end(body);
  const [answer] = await answered;
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

/** The detail of a problem. */
export function detailOf({ body }: JsonAnswer): string {
  return (JSON.parse(body) as { detail: string }).detail;
}
