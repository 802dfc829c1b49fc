import { memoryContenders } from '../contenders/memory.mjs';
import { inGenerations, rowOf } from '../measure/interleave.mjs';
import { shapes } from '../measure/shapes.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { Worker } from '../processes/worker.mjs';

const members = Object.entries(memoryContenders).map(([name, { kind }]) => ({ name, kind }));

/** The scenes of `--scene`. */
export const memoryScenes = Object.values(shapes).map(({ scene }) => scene);

/** Decisions in memory: CPU time of each, and the size of a key. */
export async function measureMemory(plan) {
  const rows = [];
  for (const shape of Object.keys(shapes).filter((name) => plan.wants(shapes[name].scene))) {
    plan.log(`memory, ${shapes[shape].says}`);
    const rounds = await timed(plan, { shape });
    const bytes = shape === 'many' ? await heldBytes(plan, members, plan.memoryKeys) : new Map();
    for (const { name, kind } of members) {
      const row = rowOf({ group: 'memory', shape, name, kind }, rounds.get(name));
      Object.assign(row.figures, rowOf({}, bytes.get(name) ?? []).figures);
      rows.push(row);
    }
  }
  return rows;
}

async function timed(plan, settings) {
  return inGenerations(plan, async () => {
    const started = [];
    for (const { name } of members) {
      const worker = new Worker('in-memory.mjs', { core: MEASURED });
      await worker.ask('open', { name, mostKeys: plan.mostKeys, ...settings });
      await worker.ask('warm', { ms: plan.warmMs });
      started.push({ name, slice: () => decisionsOf(worker, plan.sliceMs), end: () => worker.end() });
    }
    return started;
  });
}

/** One slice of a worker that decides in memory. */
export async function decisionsOf(worker, ms) {
  const { ops, denied, cpuUs } = await worker.ask('slice', { ms });
  // By its CPU time, because it waits for nothing else.
  return { perSecond: (ops / cpuUs) * 1e6, cpuUs: cpuUs / ops, deniedShare: denied / ops };
}

/** Readings of the bytes a key takes beyond the key itself, by name. Each reading has a fresh process. */
export async function heldBytes(plan, some, keys, policies = 1) {
  const readings = new Map(some.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.heapRounds; round++) {
    for (const { name } of some) {
      plan.log(`memory, ${keys} keys of ${name}`);
      const flags = ['--expose-gc', '--max-old-space-size=6000'];
      const worker = new Worker('heap.mjs', { core: MEASURED, flags });
      await worker.ask('open', { name, keys, policies });
      readings.get(name).push(await worker.ask('bytes'));
      await worker.end();
    }
  }
  return readings;
}
