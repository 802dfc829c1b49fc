/** Up to here every limit is a level. */
const EACH = 64;

/** Limits for which curves are precomputed: close together where they are small. */
export const LEVELS: readonly number[] = levels();

function levels(): readonly number[] {
  const found: number[] = [];
  for (let level = 1; level <= 1_000_000; level = level < EACH ? level + 1 : nice(level * 1.1)) found.push(level);
  return found;
}

/** Two digits. */
function nice(value: number): number {
  const unit = 10 ** Math.max(Math.floor(Math.log10(value)) - 1, 0);
  return Math.round(value / unit) * unit;
}

const PLACES: readonly number[] = Array.from({ length: 4096 }, (_, value) => search(value));

/** The place of the first level that is no less: a request of that ordinal is denied by all levels before it. */
export function levelOf(ordinal: number): number {
  return PLACES[ordinal] ?? search(ordinal);
}

function search(ordinal: number): number {
  let [low, high] = [0, LEVELS.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((LEVELS[middle] as number) < ordinal) low = middle + 1;
    else high = middle;
  }
  return low;
}
