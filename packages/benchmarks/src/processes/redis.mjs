import { Redis } from 'ioredis';
// Not by its name, because the package's index imports jest.
import { startRedis } from '../../../testkit/dist/redis-server.js';
import { startRedisCluster } from '../../../testkit/dist/redis-cluster.js';
import { OTHER, moveTo } from './cores.mjs';

/** A Redis server for this run alone, on another core than the measured process. */
export async function startServer() {
  const server = await startRedis(['--maxmemory', '0']);
  moveTo(OTHER, server.pid);
  const admin = new Redis(server.url);
  const stop = async () => {
    admin.disconnect();
    await server.stop();
  };
  return { urls: [server.url], admins: [admin], stop };
}

/** A cluster with this many primaries, all on the same core. */
export async function startCluster(size) {
  // a single node does not know its address
  const cluster = await startRedisCluster(size, { args: ['--cluster-announce-ip', '127.0.0.1'] });
  for (const { pid } of cluster.nodes) moveTo(OTHER, pid);
  const admins = cluster.nodes.map(({ url }) => new Redis(url));
  const stop = async () => {
    for (const admin of admins) admin.disconnect();
    await cluster.stop();
  };
  return { urls: cluster.nodes.map(({ url }) => url), admins, stop };
}

/** The totals of the servers so far: CPU, script time, bytes in and out, memory. */
export async function readMeter(admins) {
  const total = { cpuUs: 0, inBytes: 0, outBytes: 0, memoryBytes: 0 };
  for (const admin of admins) {
    const info = await admin.info('everything');
    const field = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
    total.cpuUs += (field('used_cpu_user') + field('used_cpu_sys')) * 1e6;
    total.inBytes += field('total_net_input_bytes');
    total.outBytes += field('total_net_output_bytes');
    total.memoryBytes += field('used_memory');
  }
  return total;
}

/** Microseconds inside commands since the last CONFIG RESETSTAT, by command. */
export async function readCommands(admins) {
  const spent = {};
  for (const admin of admins) {
    for (const [, name, calls, us] of (await admin.info('commandstats')).matchAll(
      /^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm,
    )) {
      spent[name] = { calls: (spent[name]?.calls ?? 0) + Number(calls), us: (spent[name]?.us ?? 0) + Number(us) };
    }
  }
  return spent;
}

/** The sum of MEMORY USAGE over all keys. */
export async function bytesOfKeys(admins) {
  let bytes = 0;
  for (const admin of admins) {
    let cursor = '0';
    do {
      const [next, keys] = await admin.scan(cursor, 'COUNT', 1000);
      cursor = next;
      const pipeline = admin.pipeline();
      for (const key of keys) pipeline.memory('USAGE', key, 'SAMPLES', '0');
      for (const [error, size] of await pipeline.exec()) {
        if (error) throw error;
        bytes += Number(size);
      }
    } while (cursor !== '0');
  }
  return bytes;
}
