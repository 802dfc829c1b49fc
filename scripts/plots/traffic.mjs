import { seeded } from '../../packages/testkit/dist/random.js';

/** The phases of the three minutes; times are seconds. */
const phases = [
  { name: 'calm', from: 0, to: 38, perSecond: 0.5 },
  { name: 'burst', from: 38, to: 45, perSecond: 15 },
  { name: 'steady', from: 45, to: 85, perSecond: 1.2 },
  { name: 'overload', from: 85, to: 115, perSecond: 5 },
  { name: 'silence', from: 115, to: 147, perSecond: 0 },
  { name: 'burst', from: 147, to: 150, perSecond: 20 },
  { name: 'steady', from: 150, to: 180, perSecond: 1.2 },
];

/**
 * The traffic for every policy: a quarter of what the limits allow, a burst over the edge of two windows, a steady
 * rate, an overload, silence, a burst within a window. It is the same at every call and on every machine.
 *
 * @returns Instants in milliseconds from the start, in order, each with the time that its request runs.
 */
export function traffic(seed = 1) {
  const random = seeded(seed);
  const offered = phases.flatMap(({ from, to, perSecond }) => {
    const count = Math.round((to - from) * perSecond);
    const instants = Array.from({ length: count }, () => random.integer(from * 1000, to * 1000 - 1));
    return instants.sort((a, b) => a - b).map((atMs) => ({ atMs, runsMs: random.integer(500, 4500) }));
  });
  return { offered, phases, seconds: phases.at(-1).to };
}
