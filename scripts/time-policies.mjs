// Measures how long a decision takes under each policy, on the memory store, as a multiple of fixedWindow's: all of
// them in one process, in turns, so that other load of the machine affects them alike. Run `npm run build` first.
//
//   node scripts/time-policies.mjs [--rounds 15]
//
// A round is 50 000 decisions over 1000 keys, of which about half are denied; its clock advances by a millisecond at
// every key. `kernel` is the algorithm without limiter and store. The fastest round counts, because only other load of
// the machine makes a round slower.
import { parseArgs } from 'node:util';
import { built } from './faults/built.mjs';
import { table } from './faults/figures.mjs';
import { specimens, written } from './plots/specimens.mjs';

const core = await built('core/dist/index.js');
const { algorithmOf } = await built('core/dist/internal.js');

const { values: given } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const DECISIONS = 50_000;
const KEYS = Array.from({ length: 1000 }, (_, i) => `client-${i}`);
/** Each key asks twice as often as the 2 units a second that all policies allow: every 250 ms. */
const STEP_MS = 250 / KEYS.length;

const timed = specimens.map((specimen) => {
  const { make, options, units = 1, slots = false } = specimen;
  const policy = core[make](options);
  return {
    specimen,
    limiter: limiterRound(policy, units, slots),
    kernel: slots ? undefined : kernelRound(policy, units),
    times: { limiter: [], kernel: [] },
  };
});
const rounds = Number(given.rounds);
for (let round = -3; round < rounds; round++) {
  for (const one of timed) {
    for (const kind of ['limiter', 'kernel']) {
      if (one[kind] === undefined) continue;
      const startedAt = performance.now();
      await one[kind]();
      // The first rounds only warm up the compiler.
      if (round >= 0) one.times[kind].push(performance.now() - startedAt);
    }
  }
}
const fastest = ({ times }, kind) => Math.min(...times[kind]);
const ratio = (one, kind) =>
  one.kernel || kind === 'limiter' ? (fastest(one, kind) / fastest(timed[0], kind)).toFixed(1) : '';
console.log(
  table([
    [`times those of ${written(timed[0].specimen)}`, 'limiter.consume', 'kernel'],
    ...timed.map((one) => [written(one.specimen), ratio(one, 'limiter'), ratio(one, 'kernel')]),
  ]),
);

function limiterRound(policy, units, slots) {
  let atMs = Date.UTC(2026, 0, 1);
  const limiter = core.createLimiter({ name: 'timed', policy, store: core.memoryStore({ clock: () => atMs }) });
  return async () => {
    for (let i = 0; i < DECISIONS; i++) {
      atMs += STEP_MS * units;
      const key = KEYS[i % KEYS.length];
      if (slots) await (await limiter.acquire(key)).release();
      else await limiter.consume(key, units);
    }
  };
}

function kernelRound(policy, units) {
  const { kernel } = algorithmOf(policy);
  const states = KEYS.map(() => undefined);
  let atMs = Date.UTC(2026, 0, 1);
  return () => {
    for (let i = 0; i < DECISIONS; i++) {
      atMs += STEP_MS * units;
      states[i % KEYS.length] = kernel(policy, states[i % KEYS.length], units, Math.floor(atMs)).state;
    }
  };
}
