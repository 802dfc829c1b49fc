import { memoryContenders } from '../contenders/memory.mjs';
import { interleave, rowOf } from '../measure/interleave.mjs';
import { shapes } from '../measure/shapes.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { Worker } from '../processes/worker.mjs';

/** What the others are compared with, as the issue of this has it. */
const FLOOR = 'express-rate-limit';

/** Decisions in memory: CPU time of each, and what a key takes. */
export async function measureMemory(plan) {
  const rows = [];
  for (const shape of Object.keys(shapes)) {
    plan.note(`memory, ${shapes[shape].says}`);
    const rounds = await timed(plan, { shape });
    for (const [name, seen] of rounds) {
      const about = { group: 'memory', shape, name, kind: memoryContenders[name].kind };
      rows.push(rowOf(about, seen, rounds.get(FLOOR), ['perSecond']));
    }
  }
  const bytes = await heldBytes(plan, Object.keys(memoryContenders), plan.memoryKeys);
  for (const row of rows.filter(({ shape }) => shape === 'many')) row.figures.bytesPerKey = bytes.get(row.name);
  return rows;
}

async function timed(plan, settings) {
  const workers = [];
  for (const name of Object.keys(memoryContenders)) {
    const worker = new Worker('in-memory.mjs', { core: MEASURED });
    await worker.ask('open', { name, mostKeys: plan.mostKeys, ...settings });
    await worker.ask('warm', { ms: plan.warmMs });
    workers.push({ name, worker });
  }
  const members = workers.map(({ name, worker }) => ({ name, slice: () => decisionsOf(worker, plan.sliceMs) }));
  const rounds = await interleave(members, plan.rounds);
  for (const { worker } of workers) await worker.end();
  return rounds;
}

/** One slice of a worker that decides in memory. */
export async function decisionsOf(worker, ms) {
  const { ops, refused, cpuUs } = await worker.ask('slice', { ms });
  // Of its CPU time, for there is nothing else that it waits for.
  return { perSecond: (ops / cpuUs) * 1e6, cpuUs: cpuUs / ops, refusedShare: refused / ops };
}

/** Bytes a key beyond the key itself, a fresh process for every reading. */
export async function heldBytes(plan, names, keys, policies = 1) {
  const read = new Map();
  for (const name of names) {
    plan.note(`memory, ${keys} keys of ${name}`);
    const rounds = [];
    for (let round = 0; round < plan.heapRounds; round++) {
      const worker = new Worker('heap.mjs', { core: MEASURED, flags: ['--expose-gc', '--max-old-space-size=6000'] });
      await worker.ask('open', { name, keys, policies });
      rounds.push(await worker.ask('bytes'));
      await worker.end();
    }
    read.set(name, rowOf({}, rounds).figures.bytesPerKey);
  }
  return read;
}
