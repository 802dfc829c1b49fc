// Redis that fails over: another server takes over what the first one held.
import { built } from './built.mjs';
import { sleep } from './clock.mjs';

const { startRedis } = await built('testkit/dist/redis-server.js');
const { startRedisCluster } = await built('testkit/dist/redis-cluster.js');
const { startTcpProxy } = await built('testkit/dist/tcp-proxy.js');
const { connectTo } = await built('testkit/dist/connect-to.js');
const { until } = await built('testkit/dist/until.js');

/** A primary and its replica behind one address, as a name or a proxy of a managed Redis has it. */
async function startPair() {
  const primary = await startRedis();
  const replica = await startRedis(['--replicaof', primary.host, String(primary.port)]);
  const target = { host: primary.host, port: primary.port };
  const proxy = await startTcpProxy(target);
  const admins = [primary, replica].map(({ url }) => connectTo(url));
  await until('the replica follows', async () =>
    (await admins[1].info('replication')).includes('master_link_status:up'),
  );
  return {
    primary,
    url: () => proxy.through(primary.storeUrl),
    promote: () => admins[1].replicaof('NO', 'ONE'),
    demote: () => admins[0].replicaof(replica.host, replica.port),
    /** From now on new connections lead to the replica; open ones stay where they are. */
    switchOver: () => (target.port = replica.port),
    async end() {
      for (const admin of admins) admin.disconnect();
      proxy.close();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

async function startNodes() {
  const cluster = await startRedisCluster(3, { replicas: 1, nodeTimeoutMs: 4000 });
  return {
    admin: cluster.admin,
    url: () => cluster.nodes.map(({ storeUrl }) => storeUrl).join(','),
    end: () => cluster.stop(),
  };
}

/** As `situations`, each with a place of its own. */
export const failovers = {
  'failed over': {
    what: 'the primary is killed; its replica is promoted under the same address',
    start: startPair,
    async run({ primary, promote, switchOver }, lastsMs) {
      await primary.kill();
      await sleep(lastsMs);
      await promote();
      switchOver();
    },
  },
  'switched over': {
    what: 'the primary becomes a replica, and keeps its connections; later the address leads to the new one',
    start: startPair,
    async run({ promote, demote, switchOver }, lastsMs) {
      await promote();
      await demote();
      await sleep(lastsMs);
      switchOver();
    },
  },
  'failed over in a cluster': {
    what: 'a primary of three is killed; the cluster promotes its replica, which takes it some seconds',
    start: startNodes,
    /** The nodes that are left decide two keys of three meanwhile. */
    inARow: 60,
    run: ({ admin }) => admin.killPrimaryOf('sluice:{u0}'),
  },
};
