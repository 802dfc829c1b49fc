import { membersOf, ofAgainst } from '../against.mjs';
import { algorithmContenders, memoryContenders } from '../contenders/memory.mjs';
import { inGenerations, rowOf } from '../measure/interleave.mjs';
import { keyForms, shapes } from '../measure/shapes.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { Worker } from '../processes/worker.mjs';

/** The member that the others are compared with. */
const FLOOR = 'express-rate-limit';

const listed = (contenders) => Object.entries(contenders).map(([name, { kind }]) => ({ name, kind }));
const contenders = listed(memoryContenders);
const FORMS_OF = ['sluice, consume', 'sluice, synchronous'];

/** The scenes of `--scene`. */
export const memoryScenes = [...Object.values(shapes).map(({ scene }) => scene), 'key-forms', 'five-algorithms'];

/** Decisions in memory: CPU time of each, and the size of a key. */
export async function measureMemory(plan) {
  const rows = [];
  for (const shape of Object.keys(shapes).filter((name) => plan.wants(shapes[name].scene))) {
    plan.log(`memory, ${shapes[shape].says}`);
    const members = membersOf(contenders, plan, FLOOR);
    const rounds = await timed(plan, members, { shape });
    const bytes = shape === 'many' ? await heldBytes(plan, members, plan.memoryKeys) : new Map();
    for (const member of members) {
      const about = { group: 'memory', shape, name: member.name, kind: member.kind };
      const row = rowOf(about, rounds.get(member.name), rounds.get(FLOOR), ['perSecond']);
      Object.assign(row.figures, rowOf({}, bytes.get(member.name) ?? []).figures);
      const ratios = ofAgainst(member, rounds, plan.slices);
      rows.push({ ...row, ofAgainst: ratios && { ...ratios, ...ofAgainst(member, bytes) } });
    }
  }
  if (plan.wants('key-forms')) for (const shape of ['one', 'many']) rows.push(...(await measureForms(plan, shape)));
  if (plan.wants('five-algorithms')) rows.push(...(await measureAlgorithms(plan)));
  return rows;
}

/** The same decisions with keys of each form; compared with the first form. */
async function measureForms(plan, shape) {
  plan.log(`memory, forms of keys, ${shapes[shape].says}`);
  const members = membersOf(membersOfForms(FORMS_OF), plan);
  const rounds = await timed(plan, members, { shape });
  return members.map((member) => {
    const about = { group: 'memory', scene: 'key-forms', shape, ...namesOf(member) };
    const row = rowOf(about, rounds.get(member.name), rounds.get(member.floor), ['perSecond']);
    return { ...row, ofAgainst: ofAgainst(member, rounds, plan.slices) };
  });
}

/** For each contender a member for each form of keys, with the name of its floor. */
export function membersOfForms(contenders) {
  const [first] = Object.keys(keyForms);
  return contenders.flatMap((contender) =>
    Object.keys(keyForms).map((form) => {
      const named = (one) => `${contender}, ${one}`;
      return { name: named(form), contender, kind: 'ours', form, floor: named(first) };
    }),
  );
}

/** Identifies the row of a member with a form of keys. */
export const namesOf = ({ contender, kind, form }) => ({ name: contender, kind, form });

/** Five algorithms in one process, beside each in its own: compared with the mean time of a decision there. */
async function measureAlgorithms(plan) {
  plan.log('memory, five algorithms in one process');
  const members = membersOf(listed(algorithmContenders), plan);
  const rounds = await timed(plan, members, { shape: 'one' });
  const alone = members.filter(({ name, build }) => build === undefined && name.endsWith('alone'));
  const floor = rounds.get(alone[0].name).map((_, i) => {
    const times = alone.map(({ name }) => 1 / rounds.get(name)[i].perSecond);
    return { perSecond: times.length / times.reduce((sum, time) => sum + time) };
  });
  return members.map((member) => {
    const about = { group: 'memory', scene: 'five-algorithms', shape: 'one', name: member.name, kind: member.kind };
    const row = rowOf(about, rounds.get(member.name), floor, ['perSecond']);
    return { ...row, ofAgainst: ofAgainst(member, rounds, plan.slices) };
  });
}

async function timed(plan, members, settings) {
  return inGenerations(plan, async () => {
    const started = [];
    for (const { name, contender, form, build } of members) {
      const worker = new Worker('in-memory.mjs', { core: MEASURED, build });
      await worker.ask('open', { name: contender, form, mostKeys: plan.mostKeys, ...settings });
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
export async function heldBytes(plan, members, keys, policies = 1) {
  const readings = new Map(members.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.heapRounds; round++) {
    for (const { name, contender = name, build } of members) {
      plan.log(`memory, ${keys} keys of ${name}`);
      const flags = ['--expose-gc', '--max-old-space-size=6000'];
      const worker = new Worker('heap.mjs', { core: MEASURED, flags, build });
      await worker.ask('open', { name: contender, keys, policies });
      readings.get(name).push(await worker.ask('bytes'));
      await worker.end();
    }
  }
  return readings;
}
