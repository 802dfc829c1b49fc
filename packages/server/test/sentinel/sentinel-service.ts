import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { memoryStore, type Store } from '@sluice/core';
import { serveSentinel } from '../../src/sentinel/serve-sentinel.ts';
import { Clients } from '../../src/transport/clients.ts';
import type { Made } from '../../src/transport/http.ts';
import { configurationOf, makeService, type MadeService } from '../serve.ts';
import { SentinelClient } from './sentinel-client.ts';

/** A rule in Sentinel's JSON, with the fields that a test is about. */
export interface RuleFields {
  readonly flowId: number;
  readonly count: number;
  /** 0: per client; 1: global, the default here. */
  readonly thresholdType?: number;
  /** Of parameters: values with counts of their own. */
  readonly items?: readonly { readonly object: string; readonly count: number; readonly classType?: string }[];
}

/** So long that a slow machine does not see it end. */
const HOUR_MS = 3_600_000;

/** A file with these rules of the namespace `checkout`. Counts are those of a whole hour. */
export function limitsOf(rules: readonly RuleFields[], more = ''): string {
  const written = rules.map(({ flowId, count, thresholdType = 1, items }) => ({
    resource: `resource-${String(flowId)}`,
    count: count / (HOUR_MS / 1_000),
    clusterMode: true,
    clusterConfig: { flowId, thresholdType, windowIntervalMs: HOUR_MS },
    ...(items === undefined
      ? {}
      : {
          paramIdx: 0,
          paramFlowItemList: items.map((item) => ({ classType: 'java.lang.String', ...item })),
        }),
  }));
  return `sentinel:\n  namespace: checkout\n  ${more}\n  rules: ${JSON.stringify(written)}\n`;
}

/** A service whose listener of Sentinel accepts connections on the loopback. */
export class SentinelService {
  readonly port: number;
  readonly #service: MadeService;
  readonly #server: Made;
  readonly #clients: SentinelClient[] = [];

  static async start(yaml: string, store: Store = memoryStore()): Promise<SentinelService> {
    const service = makeService(yaml, { store });
    const server = serveSentinel(service, service.timeoutMs, new Clients());
    server.server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    return new SentinelService(service, server);
  }

  private constructor(service: MadeService, server: Made) {
    this.port = (server.server.address() as AddressInfo).port;
    this.#service = service;
    this.#server = server;
  }

  async connect(): Promise<SentinelClient> {
    const client = await SentinelClient.connect(this.port);
    this.#clients.push(client);
    return client;
  }

  /** Uses another configuration from now on. */
  reload(yaml: string): void {
    this.#service.configuration = configurationOf(yaml, this.#service.core);
  }

  /** Ends the listener as the service does. */
  leave(drainMs: number): Promise<void> {
    return this.#server.close(drainMs);
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.leave(0);
    this.#service.stats.close();
    await this.#service.core.close();
  }
}
