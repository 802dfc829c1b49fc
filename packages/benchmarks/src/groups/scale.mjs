import { interleave, rowOf } from '../measure/interleave.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { readMeter, startCluster, startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';
import { decisionsOf, heldBytes } from './memory.mjs';
import { sliceOf } from './redis.mjs';

const IN_FLIGHT = 64;

/** The growth of the cost, of Sluice alone: with keys, policies, processes and nodes. */
export async function measureScale(plan) {
  return [
    ...(await overKeysInMemory(plan)),
    ...(await overRedis(plan, 'keys', plan.scaleKeys, (keys) => ({ keys, shape: 'many' }))),
    ...(await overPoliciesInMemory(plan)),
    ...(await overRedis(plan, 'policies', [1, 2, 3, 4, 5], (policies) => ({ policies, shape: 'many' }))),
    ...(await overRedis(plan, 'processes', [1, 2, 3, 4], (processes) => ({ processes, shape: 'many' }))),
    ...(await overRedis(plan, 'processes, one key', [1, 2, 3, 4], (processes) => ({ processes, shape: 'one' }))),
    ...(await overRedis(plan, 'nodes', [1, 2, 3], (nodes) => ({ nodes, shape: 'many' }))),
  ];
}

async function overKeysInMemory(plan) {
  const rows = [];
  for (const name of ['sluice, consume', 'sluice, synchronous']) {
    rows.push(...(await inMemory(plan, 'keys', name, plan.scaleKeys, (keys) => ({ keys, shape: 'many' }))));
  }
  for (const row of rows.filter((one) => one.name === 'sluice, synchronous')) {
    Object.assign(row.figures, await bytesOf(plan, row.name, row.at));
  }
  return rows;
}

async function overPoliciesInMemory(plan) {
  const name = 'sluice, synchronous';
  const rows = await inMemory(plan, 'policies', name, [1, 2, 3, 4, 5], (policies) => ({ policies, shape: 'many' }));
  for (const row of rows) {
    Object.assign(row.figures, await bytesOf(plan, name, plan.scaleKeys.at(-2), row.at));
  }
  return rows;
}

async function bytesOf(plan, name, keys, policies) {
  return rowOf({}, (await heldBytes(plan, [{ name }], keys, policies)).get(name)).figures;
}

async function inMemory(plan, axis, name, points, settingsAt) {
  const members = [];
  for (const at of points) {
    plan.log(`scale, memory, ${axis}: ${at}`);
    const worker = new Worker('in-memory.mjs', { core: MEASURED });
    await worker.ask('open', { name, mostKeys: plan.mostKeys, ...settingsAt(at) });
    await worker.ask('warm', { ms: plan.warmMs });
    members.push({ name: at, worker, slice: () => decisionsOf(worker, plan.sliceMs) });
  }
  const seen = await interleave(members, plan.rounds);
  for (const { worker } of members) await worker.end();
  return points.map((at) => rowOf({ group: 'scale', store: 'memory', axis, at, name, kind: 'ours' }, seen.get(at)));
}

/** Each point has its own servers, so that all points can be measured in turn. */
async function overRedis(plan, axis, points, settingsAt) {
  const members = [];
  try {
    for (const at of points) {
      const { processes = 1, nodes, ...settings } = settingsAt(at);
      plan.log(`scale, redis, ${axis}: ${at}`);
      const servers = nodes === undefined ? await startServer() : await startCluster(nodes);
      const member = { name: at, workers: [], servers };
      members.push(member);
      const empty = await readMeter(servers.admins);
      for (let who = 0; who < processes; who++) {
        const worker = new Worker('in-redis.mjs', { core: MEASURED });
        member.workers.push(worker);
        const where = { urls: servers.urls, cluster: nodes !== undefined, who };
        await worker.ask('open', { name: 'sluice', mostKeys: plan.mostKeys, ...where, ...settings });
        await worker.ask('warm', { ms: plan.warmMs, inFlight: IN_FLIGHT });
      }
      const full = await readMeter(servers.admins);
      const keys = settings.keys ?? 10_000;
      const slice = () => sliceOf(member.workers, servers.admins, IN_FLIGHT, plan.sliceMs);
      member.slice = async () => ({
        ...(await slice()),
        // Only with so many keys that other memory of the server, such as buffers, does not matter.
        ...(axis === 'keys' && keys >= 100_000 ? { bytesPerKey: (full.memoryBytes - empty.memoryBytes) / keys } : {}),
      });
    }
    const seen = await interleave(members, plan.rounds);
    return points.map((at) =>
      rowOf({ group: 'scale', store: 'redis', axis, at, name: 'sluice', kind: 'ours' }, seen.get(at)),
    );
  } finally {
    for (const { workers, servers } of members) {
      for (const worker of workers) {
        await worker.ask('close');
        await worker.end();
      }
      await servers.stop();
    }
  }
}
