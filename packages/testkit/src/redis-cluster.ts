import type { Redis } from 'ioredis';
import { ClusterAdmin } from './cluster-admin.ts';
import { connectTo } from './connect-to.ts';
import { freePort } from './free-port.ts';
import { startRedis, type RedisServer } from './redis-server.ts';
import { until } from './until.ts';

/** Real servers that share the hash slots. */
export interface RedisCluster {
  /** All of them: first those that started as primaries, then their replicas. */
  readonly nodes: readonly RedisServer[];
  /** Inspects and changes the cluster, as the default user of every node. */
  readonly admin: ClusterAdmin;
  stop(): Promise<void>;
}

export interface RedisClusterOptions {
  /** The number of replicas per primary: 0 or 1. Default 0. */
  replicas?: 0 | 1;
  /** The time after which the others treat a silent node as dead. Default 1000. */
  nodeTimeoutMs?: number;
}

const SLOTS = 16_384;

/**
 * Starts a cluster with this many primaries, and waits until every node reports it complete and every replica follows.
 */
export async function startRedisCluster(size = 3, options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { replicas = 0, nodeTimeoutMs = 1_000 } = options;
  const busPorts: number[] = [];
  const nodes: RedisServer[] = [];
  const clients: Redis[] = [];
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect();
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let i = 0; i < size * (1 + replicas); i++) {
      const busPort = await freePort();
      busPorts.push(busPort);
      nodes.push(
        await startRedis([
          ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
          ...['--cluster-node-timeout', String(nodeTimeoutMs), '--cluster-replica-validity-factor', '0'],
          ...['--cluster-allow-replica-migration', 'no', '--repl-diskless-sync-delay', '0'],
        ]),
      );
    }
    clients.push(...nodes.map(({ url }) => connectTo(url)));
    await join(clients, nodes, busPorts, size);
  } catch (error) {
    await stop();
    throw error;
  }
  return { nodes, admin: new ClusterAdmin(nodes, clients), stop };
}

async function join(
  clients: readonly Redis[],
  nodes: readonly RedisServer[],
  busPorts: readonly number[],
  primaries: number,
): Promise<void> {
  const [first] = clients as readonly [Redis];
  for (const [i, client] of clients.entries()) {
    const { host, port } = nodes[i] as RedisServer;
    if (i > 0) await first.call('CLUSTER', 'MEET', host, port, busPorts[i] ?? 0);
    if (i >= primaries) continue;
    const from = Math.ceil((i * SLOTS) / primaries);
    const to = Math.ceil(((i + 1) * SLOTS) / primaries) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  await until('the nodes become a cluster', async () => (await Promise.all(clients.map(isWhole))).every(Boolean));
  for (const [i, client] of clients.entries()) {
    if (i < primaries) continue;
    const primaryId = String(await (clients[i - primaries] as Redis).call('CLUSTER', 'MYID'));
    await until('the replica knows its primary', () => client.call('CLUSTER', 'REPLICATE', primaryId));
    await until('the replica follows', async () =>
      (await client.info('replication')).includes('master_link_status:up'),
    );
  }
  await until('all know who follows whom', async () => {
    const views = await Promise.all(clients.map((client) => client.call('CLUSTER', 'NODES')));
    return views.every((view) => (String(view).match(/\bslave\b/g) ?? []).length === clients.length - primaries);
  });
}

async function isWhole(client: Redis): Promise<boolean> {
  const info = String(await client.call('CLUSTER', 'INFO'));
  return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${String(SLOTS)}`);
}
