const DEPTH = process.env['SLUICE_DEPTH'] ?? '';
if (DEPTH !== '' && DEPTH !== 'deep') throw new RangeError(`SLUICE_DEPTH is deep or not set; it is ${DEPTH}`);

/** Whether random explorations go far: `npm test -- --deep`. */
const isDeep: boolean = DEPTH === 'deep';

/** The factor for the usual number of cases: a whole run ends within minutes on two cores. */
export const factor: number = isDeep ? 10 : 0.5;

/** The number of cases of this run, at least one. */
export function cases(usual: number): number {
  return Math.max(Math.round(usual * factor), 1);
}
