/** The depth of random exploration: `npm test` runs `full`. */
export type Depth = 'quick' | 'full' | 'deep';

/** A full run ends within minutes on two cores; what it explores less, the deep run at night explores more. */
const FACTORS: Readonly<Record<Depth, number>> = { quick: 0.1, full: 0.5, deep: 10 };

/** The depth of this run: the environment's SLUICE_DEPTH, else `full`. */
export const depth: Depth = depthNamed(process.env['SLUICE_DEPTH']);

function depthNamed(name = ''): Depth {
  if (name === '') return 'full';
  if (Object.hasOwn(FACTORS, name)) return name as Depth;
  throw new RangeError(`SLUICE_DEPTH is one of ${Object.keys(FACTORS).join(', ')}; it is ${name}`);
}

/** How many cases are tried at this depth, compared with the usual number. */
export const factor: number = FACTORS[depth];

/**
 * The number of cases at this depth, at least one: half of `usual` for `full`, a tenth for `quick`, ten times as many
 * for `deep`.
 */
export function cases(usual: number): number {
  return Math.max(Math.round(usual * factor), 1);
}
