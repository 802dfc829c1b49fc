import { spreadOf, tidy } from './spread.mjs';

/**
 * Measures members in turn, A B C, A C B, C A B, ..., so that other load of the machine affects them alike, and each as
 * often before a neighbour as after it: the second of two finds a warmer server.
 *
 * @param members - `{ name, slice }`, where `slice()` resolves to figures by name.
 * @returns By member's name the figures of every round.
 */
export async function interleave(members, rounds, log = () => undefined) {
  const seen = new Map(members.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < members.length; i++) {
      const turn = round % 2 === 0 ? i : -i;
      const { name, slice } = members.at((turn + round) % members.length);
      seen.get(name).push(await slice(round));
    }
    log(round);
  }
  return seen;
}

/**
 * Measures in several generations of processes, each for a share of the rounds: how a process happens to be compiled
 * is luck that lasts as long as the process does.
 *
 * @param start - Makes the members of one generation: `{ name, slice, end }`.
 */
export async function inGenerations({ rounds, generations, slices = 1 }, start) {
  const all = new Map();
  for (let generation = 0; generation < generations; generation++) {
    const members = await start();
    const seen = await interleave(members, slices * Math.ceil(rounds / generations));
    for (const [name, some] of seen) all.set(name, [...(all.get(name) ?? []), ...some]);
    for (const { end } of members) await end();
  }
  return all;
}

/**
 * One row of the results: the figures' medians and spreads, and what they are of the floor's in the same round.
 *
 * @param floor - The rounds of what it is compared with.
 * @param compared - Which figures are.
 */
export function rowOf(about, rounds, floor, compared = []) {
  const figures = {};
  for (const name of Object.keys(rounds[0] ?? {})) {
    const spread = spreadOf(rounds.map((round) => round[name]));
    if (spread !== undefined) figures[name] = spread;
  }
  const ofFloor = {};
  for (const name of floor === undefined ? [] : compared) {
    const ratio = spreadOf(rounds.map((round, i) => tidy(round[name] / floor[i][name])));
    if (ratio !== undefined) ofFloor[name] = ratio;
  }
  return { ...about, figures, ofFloor };
}
