import { once } from 'node:events';
import { memoryStore, type Store } from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { freePort } from '@sluice/testkit';
import { Access } from '../../src/access.ts';
import { buildConfiguration } from '../../src/config/configuration.ts';
import { readConfiguration } from '../../src/config/read-configuration.ts';
import { RequestRules } from '../../src/config/request-rules.ts';
import type { Health } from '../../src/health/health.ts';
import { makeLimitMaker } from '../../src/limits.ts';
import { serveRls, type RlsOptions } from '../../src/rls/serve-rls.ts';
import type { Service } from '../../src/service.ts';
import { Stats } from '../../src/stats/stats.ts';
import { Clients } from '../../src/transport/clients.ts';
import type { Made } from '../../src/transport/http.ts';
import { entriesOf } from '../config/reading.ts';
import { GrpcClient, type AskOptions } from './grpc-client.ts';
import type { DescriptorFields, RequestFields, ResponseFields } from './protocol.ts';

export interface RunningService {
  readonly health: Health;
  readonly rls: Made;
  /** How many calls have begun and not ended. */
  readonly openCalls: number;
  readonly port: number;
  readonly client: GrpcClient;
  /** Calls ShouldRateLimit. */
  ask(request: RequestFields, options?: AskOptions): Promise<ResponseFields>;
  close(): Promise<void>;
}

export interface RunOptions extends Partial<RlsOptions> {
  readonly store?: Store;
  readonly timeoutMs?: number;
  readonly token?: string;
}

/** The listener of gRPC alone, on a port of the loopback, with what shows its inside. */
export async function runService(yaml: string, options: RunOptions = {}): Promise<RunningService> {
  const { store = memoryStore(), timeoutMs = 60_000, token, ...rls } = options;
  const core = new LimiterCore({ name: 'service', shared: true, store, timeoutMs });
  core.claim();
  const makeLimit = makeLimitMaker(core);
  const configuration = buildConfiguration(readConfiguration([{ path: 'limits.yaml', text: yaml }]), makeLimit);
  const [health, stats, clients] = [{ isServing: true }, new Stats(), new Clients()];
  const inside = { core, configuration, health, stats, timeoutMs, access: new Access(token) };
  const service = { ...inside, requestRules: new RequestRules(makeLimit) } as object as Service;
  const made = serveRls(service, {
    ...{ entrance: { isPrivate: false }, clients, tls: undefined, maxInFlight: 1024 },
    ...rls,
  });
  const port = await freePort();
  made.server.listen(port, '127.0.0.1');
  await once(made.server, 'listening');
  const client = new GrpcClient(port);
  return {
    ...{ health, port, client, rls: made },
    get openCalls() {
      return clients.calls.all;
    },
    ask: (request, given) => client.ask(request, given),
    async close() {
      client.close();
      await made.close(0);
      stats.close();
      await core.close();
    },
  };
}

/** A descriptor of entries, each `key=value`. */
export function descriptor(written: string, more: Omit<DescriptorFields, 'entries'> = {}): DescriptorFields {
  return { entries: entriesOf(written.split(' ')), ...more };
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
