import { connectTo } from '../connect-to.ts';
import { STORE_USER } from '../least-privilege.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import { startRedis, type RedisServer } from '../redis-server.ts';

/** Where a client under test connects to, and as whom: a user with no more rights than the guide states. */
export interface Endpoint {
  /** The address of the one server, or of the first node. */
  readonly url: string;
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username: string;
  readonly password: string;
}

/** A server, or the servers of a cluster, and what the tests do to them. */
export interface Servers {
  readonly endpoint: Endpoint;
  /** Who answers for a key. */
  serverOf(key: string): Promise<RedisServer>;
  flushScripts(): Promise<void>;
  /** All keys there are. */
  keys(): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startServers(cluster: boolean): Promise<Servers> {
  if (!cluster) {
    const server = await startRedis();
    const admin = connectTo(server.url);
    return {
      endpoint: endpointOf([server]),
      serverOf: () => Promise.resolve(server),
      flushScripts: async () => {
        await admin.script('FLUSH');
      },
      keys: () => admin.keys('*'),
      stop: async () => {
        admin.disconnect();
        await server.stop();
      },
    };
  }
  const running = await startRedisCluster();
  const { nodes, admin } = running;
  const clients = nodes.map((node) => admin.clientOf(node));
  return {
    endpoint: endpointOf(nodes),
    serverOf: (key) => admin.primaryOf(key),
    flushScripts: async () => {
      await Promise.all(clients.map((client) => client.script('FLUSH')));
    },
    keys: async () => (await Promise.all(clients.map((client) => client.keys('*')))).flat(),
    stop: () => running.stop(),
  };
}

function endpointOf(servers: readonly RedisServer[]): Endpoint {
  const { name: username, password } = STORE_USER;
  const nodes = servers.map(({ host, port }) => ({ host, port }));
  return { url: (servers[0] as RedisServer).storeUrl, nodes, username, password };
}
