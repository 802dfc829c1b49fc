import { spreadOf, tidy } from './spread.mjs';

/**
 * Measures members in turn, A B C, B C A, ..., so that whatever else the machine does hits them alike.
 *
 * @param members - `{ name, slice }`, where `slice()` answers figures by name.
 * @returns By member's name the figures of every round.
 */
export async function interleave(members, rounds, note = () => undefined) {
  const seen = new Map(members.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < members.length; i++) {
      const { name, slice } = members[(i + round) % members.length];
      seen.get(name).push(await slice(round));
    }
    note(round);
  }
  return seen;
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
