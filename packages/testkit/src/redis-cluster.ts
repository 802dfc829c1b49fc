import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, startRedis, type RedisServer } from './redis-server.ts';

/** Real servers that hold the hash slots among them. */
export interface RedisCluster {
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

const SLOTS = 16_384;
const DEADLINE_MS = 20_000;

/** Starts a cluster of primaries, and waits until every one of them finds it whole. */
export async function startRedisCluster(size = 3): Promise<RedisCluster> {
  const busPorts: number[] = [];
  const nodes: RedisServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let i = 0; i < size; i++) {
      const busPort = await freePort();
      busPorts.push(busPort);
      nodes.push(await startRedis(['--cluster-enabled', 'yes', '--cluster-port', String(busPort)]));
    }
    const clients = nodes.map(({ url }) => new Redis(url));
    try {
      await join(clients, nodes, busPorts);
    } finally {
      for (const client of clients) client.disconnect();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { nodes, stop };
}

async function join(
  clients: readonly Redis[],
  nodes: readonly RedisServer[],
  busPorts: readonly number[],
): Promise<void> {
  const [first] = clients as readonly [Redis];
  for (const [i, client] of clients.entries()) {
    const from = Math.ceil((i * SLOTS) / clients.length);
    const to = Math.ceil(((i + 1) * SLOTS) / clients.length) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    const { host, port } = nodes[i] as RedisServer;
    if (i > 0) await first.call('CLUSTER', 'MEET', host, port, busPorts[i] ?? 0);
  }
  const startedAt = performance.now();
  while (!(await Promise.all(clients.map(isWhole))).every(Boolean)) {
    if (performance.now() - startedAt > DEADLINE_MS) throw new Error('the nodes did not become a cluster');
    await sleep(50);
  }
}

async function isWhole(client: Redis): Promise<boolean> {
  const info = String(await client.call('CLUSTER', 'INFO'));
  return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${String(SLOTS)}`);
}
