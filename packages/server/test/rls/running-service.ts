import { once } from 'node:events';
import {
  credentials,
  Metadata,
  type CallOptions,
  type ChannelOptions,
  Client,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { memoryStore, type Store } from '@sluice/core';
import { freePort } from '@sluice/testkit';
import { serveRls, type RlsOptions } from '../../src/rls/serve-rls.ts';
import { Clients } from '../../src/transport/clients.ts';
import type { Made } from '../../src/transport/http.ts';
import { makeService, type MadeService } from '../serve.ts';
import {
  METHODS,
  type DescriptorFields,
  type RequestFields,
  type ResponseFields,
  type TestedMethod,
} from './protocol.ts';

export interface RunningService {
  readonly service: MadeService;
  readonly rls: Made;
  /** How many calls have begun and not ended. */
  readonly openCalls: number;
  readonly port: number;
  /** A client of grpc-js. */
  readonly client: Client;
  /** Calls ShouldRateLimit. */
  ask(request: RequestFields, options?: AskOptions): Promise<ResponseFields>;
  close(): Promise<void>;
}

export interface AskOptions {
  readonly authorization?: string;
  /** For which the client waits, and which it tells the service, in milliseconds. */
  readonly deadline?: number;
  /** The deadline that it tells the service while it waits without one, as in `1500m`. */
  readonly grpcTimeout?: string;
}

export interface RunOptions extends Partial<RlsOptions> {
  readonly store?: Store;
  readonly timeoutMs?: number;
  readonly token?: string;
  /** The name of the core: services of one name and store count together. */
  readonly shared?: boolean;
}

/** A service on a port of the loopback. */
export async function runService(yaml: string, options: RunOptions = {}): Promise<RunningService> {
  const { store = memoryStore(), timeoutMs = 60_000, token, shared = true, ...rls } = options;
  const service = makeService(yaml, { store, timeoutMs, token, shared });
  const clients = new Clients();
  const server = serveRls(service, {
    ...{ entrance: { isPrivate: false }, clients, tls: undefined, maxInFlight: 1024 },
    ...rls,
  });
  const port = await freePort();
  server.server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  const client = connect(port);
  return {
    service,
    rls: server,
    get openCalls() {
      return clients.calls.all;
    },
    port,
    client,
    ask: (request, given) => ask(client, request, given),
    async close() {
      client.close();
      await server.close(0);
      service.stats.close();
      await service.core.close();
    },
  };
}

export function connect(port: number, options: ChannelOptions = {}): Client {
  // Without a pool of its own, clients of one process share a connection.
  return new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    ...options,
  });
}

/** Calls ShouldRateLimit. Rejects with grpc-js's error, whose `code` is the status. */
export function ask(client: Client, request: RequestFields, options: AskOptions = {}): Promise<ResponseFields> {
  return callMethod(client, METHODS.shouldRateLimit, request, options);
}

export function callMethod<Request, Response>(
  client: Client,
  { path, encode, decode }: TestedMethod<Request, Response>,
  request: Request,
  { authorization, grpcTimeout, deadline }: AskOptions = {},
): Promise<Response> {
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set('authorization', authorization);
  if (grpcTimeout !== undefined) metadata.set('grpc-timeout', grpcTimeout);
  const call: CallOptions = deadline === undefined ? {} : { deadline: Date.now() + deadline };
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, encode, decode, request, metadata, call, (error, response) => {
      if (error !== null) reject(error);
      else resolve(response as Response);
    });
  });
}

/** The name of the status that a call fails with. */
export async function makeStatus(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    return status[(error as ServiceError).code];
  }
}

/** A descriptor of entries, each `key=value`. */
export function descriptor(written: string, more: Omit<DescriptorFields, 'entries'> = {}): DescriptorFields {
  const entries = written.split(' ').map((entry) => {
    const [key = '', ...rest] = entry.split('=');
    return { key, value: rest.join('=') };
  });
  return { entries, ...more };
}

const UNITS = ['SECOND', 'MINUTE', 'HOUR', 'DAY'];

/**
 * A request of the domain `shop`. Descriptors are joined by `&`: entries, then hits (`*3`, `*0` for a check, `*-3` for a refund), or a
 * limit of the request (`@2/HOUR`). `3: ` before all are hits of the request.
 *
 * @param subject - Stands for each `$`.
 */
export function readRequest(written: string, subject: string): RequestFields {
  const [, hits, list = ''] = /^(?:(\d+): )?(.*)$/.exec(written) ?? [];
  const descriptors = list.split(' & ').map((one): DescriptorFields => {
    const [, entries = '', value, limit, unit = ''] = /^(.*?)(?: \*(-?\d+))?(?: @(\d+)\/(\w+))?$/.exec(one) ?? [];
    if (entries === '') return {};
    return descriptor(entries.replaceAll('$', subject), {
      ...(value === undefined ? {} : { hitsAddend: { value: value.replace('-', '') } }),
      ...(limit === undefined ? {} : { limit: { requestsPerUnit: Number(limit), unit: 1 + UNITS.indexOf(unit) } }),
      isNegativeHits: value?.startsWith('-') === true,
    });
  });
  return { domain: 'shop', hitsAddend: Number(hits ?? 0), descriptors };
}
