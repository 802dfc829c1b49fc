/** Random numbers that repeat for the same seed. */
export interface Random {
  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** True with this probability, in percent. */
  percent(share: number): boolean;
}

/**
 * The seed of this run: the environment's SLUICE_SEED, else the argument, so that a run can be repeated and a longer
 * search started.
 */
export function testSeed(usual: number): number {
  const named = process.env['SLUICE_SEED'];
  return named === undefined || named === '' ? usual : Number(named);
}

// In Jest, reading a global takes longer than the rest of a draw.
const { floor, imul } = Math;

/** Mulberry32, two draws a number: 53 bits. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const fraction = (): number => ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53;
  const integer = (least: number, most: number): number => least + floor(fraction() * (most - least + 1));
  return {
    integer,
    pick: <T>(list: readonly [T, ...T[]]): T => list[integer(0, list.length - 1)] as T,
    percent: (share) => fraction() * 100 < share,
  };
}
