import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { memoryStore, type Store } from '@sluice/core';
import type { LimiterCore } from '@sluice/core/spi';
import { serveSentinel } from '../../src/sentinel/serve-sentinel.ts';
import type { Stats } from '../../src/stats/stats.ts';
import { Clients } from '../../src/transport/clients.ts';
import type { Made } from '../../src/transport/http.ts';
import { configurationOf, makeService } from '../serve.ts';
import { SentinelClient } from './sentinel-client.ts';

/** A rule in Sentinel's JSON, with the fields that a test is about. */
export interface RuleFields {
  readonly flowId: number | string;
  readonly count: number;
  /** 0: per client; 1: global, the default here. */
  readonly thresholdType?: number;
  readonly windowIntervalMs?: number;
  /** Of parameters: values with counts of their own. */
  readonly items?: readonly { readonly object: string; readonly count: number; readonly classType?: string }[];
}

/** So long that a slow machine does not see it end. */
const HOUR_MS = 3_600_000;

/** A file with these rules of the namespace `checkout`. Counts are those of a whole hour. */
export function limitsOf(rules: readonly RuleFields[], more = ''): string {
  const written = rules.map(({ flowId, count, thresholdType = 1, windowIntervalMs = HOUR_MS, items }) => ({
    resource: `resource-${String(flowId)}`,
    count: count / (windowIntervalMs / 1_000),
    clusterMode: true,
    clusterConfig: { flowId: Number(flowId), thresholdType, windowIntervalMs },
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
  readonly core: LimiterCore;
  readonly stats: Stats;
  readonly #server: Made;
  readonly #use: (yaml: string) => void;
  readonly #clients: SentinelClient[] = [];

  /** @param longestMs - How long a decision waits for Redis: by default long enough for a busy machine. */
  static async start(yaml: string, store: Store = memoryStore(), longestMs?: number): Promise<SentinelService> {
    const service = makeService(yaml, { store });
    const { core } = service;
    const server = serveSentinel(service, longestMs ?? service.timeoutMs, new Clients());
    server.server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    return new SentinelService(server, core, service.stats, (text) => {
      service.configuration = configurationOf(text, core);
    });
  }

  private constructor(server: Made, core: LimiterCore, stats: Stats, use: (yaml: string) => void) {
    this.port = (server.server.address() as AddressInfo).port;
    this.core = core;
    this.stats = stats;
    this.#server = server;
    this.#use = use;
  }

  async connect(): Promise<SentinelClient> {
    const client = await SentinelClient.connect(this.port);
    this.#clients.push(client);
    return client;
  }

  /** Uses another configuration from now on. */
  reload(yaml: string): void {
    this.#use(yaml);
  }

  /** Ends the listener as the service does. */
  leave(drainMs: number): Promise<void> {
    return this.#server.close(drainMs);
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.#server.close(0);
    this.stats.close();
    await this.core.close();
  }
}
