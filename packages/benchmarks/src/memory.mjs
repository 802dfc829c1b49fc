// What does a decision in memory cost?
import { cpuUs, inTurn, startChild, toRow } from './in-turn.mjs';
import { deciding, drawKeys, keysOf, SHAPES } from './keys.mjs';
import { IN_MEMORY } from './peers.mjs';

/** Decisions between two looks at the CPU time. */
const IN_A_ROW = 1000;

export async function measureMemory({ generations, rounds, sliceMs, heapKeys, wants, log }) {
  const names = Object.keys(IN_MEMORY);
  const rows = [];
  for (const [scene, { says }] of Object.entries(SHAPES).filter(([name]) => wants(name))) {
    log(`memory, ${says}`);
    const seen = await inTurn(names, { generations, rounds }, async (name) => {
      const child = await startChild('memory.mjs', { name, scene });
      return {
        slice: () => child.ask('slice', { ms: sliceMs }),
        warm: () => child.ask('warm', { ms: sliceMs }),
        ...child,
      };
    });
    for (const name of names) rows.push(toRow({ scene, name }, seen.get(name), seen.get('Map by hand')));
  }
  log(`memory, bytes of ${heapKeys} keys`);
  const flags = ['--expose-gc', '--max-old-space-size=6000'];
  const bytes = await inTurn(names, { generations, rounds: 1 }, async (name) => {
    const child = await startChild('memory.mjs', { name, scene: 'many' }, { flags });
    return { slice: () => child.ask('bytes', { keys: heapKeys }), ...child };
  });
  return [...rows, ...names.map((name) => toRow({ scene: 'bytes', name }, bytes.get(name)))];
}

/** The measured process. */
export function open({ name, scene, limit = SHAPES[scene].limit }) {
  const { consume, denies } = IN_MEMORY[name](limit);
  const nextKey = drawKeys(SHAPES[scene]);
  const slice = async ({ ms }) => {
    const startUs = cpuUs();
    let [ops, denied, spentUs] = [0, 0, 0];
    // By CPU time, so that other load of the core does not make the slice shorter.
    while (spentUs < ms * 1000) {
      for (let i = 0; i < IN_A_ROW; i++) {
        let answer = consume(nextKey());
        if (typeof answer.then === 'function') answer = await answer;
        if (denies(answer)) denied++;
      }
      ops += IN_A_ROW;
      spentUs = cpuUs() - startUs;
    }
    return { perSecond: (ops / spentUs) * 1e6, cpuUs: spentUs / ops, deniedShare: denied / ops };
  };
  return {
    ...deciding({ consume, denies }, SHAPES[scene], slice),
    /** What a key takes on the heap and, as typed arrays do, beside it. */
    bytes: async ({ keys: count }) => {
      const keys = keysOf({ keys: count });
      await consume('warm');
      const before = heldBytes();
      for (let i = 0; i < count; i++) {
        await consume(keys[i]);
        keys[i] = undefined; // as a request's key, which ends with the request
      }
      const bytesPerKey = (heldBytes() - before) / count;
      await consume(keys[0] ?? 'warm'); // so that neither is collected before the last look
      return { bytesPerKey };
    },
  };
}

function heldBytes() {
  for (let i = 0; i < 4; i++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
