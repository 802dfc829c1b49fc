import type { Candidate } from '../candidates/candidate.ts';

/** Up to here every limit is a level. */
const EACH = 64;
const MOST = 1_000_000;
const REMEMBERED = 4096;

/** Limits for which curves are precomputed: close together where they are small, and those of the candidates. */
export class Levels {
  readonly limits: readonly number[];
  readonly #places: readonly number[];

  constructor(candidates: readonly Candidate[]) {
    const found = new Set(candidates.flatMap(limitsOf));
    for (let limit = 1; limit <= MOST; limit = limit < EACH ? limit + 1 : nice(limit * 1.1)) found.add(limit);
    this.limits = [...found].sort((one, other) => one - other);
    this.#places = Array.from({ length: REMEMBERED }, (_, ordinal) => this.#search(ordinal));
  }

  /**
   * The index of the first level at or above an ordinal: a request of that ordinal is denied by all levels before it.
   */
  of(ordinal: number): number {
    return this.#places[ordinal] ?? this.#search(ordinal);
  }

  #search(ordinal: number): number {
    let [low, high] = [0, this.limits.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.limits[middle] as number) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function limitsOf({ limits }: Candidate): readonly number[] {
  return limits
    .flatMap(({ policies }) => policies.map(({ policy }) => policy))
    .flatMap((policy: object) => ('limit' in policy && typeof policy.limit === 'number' ? [policy.limit] : []))
    .filter((limit) => limit >= 1 && limit <= MOST);
}

/** Two digits. */
function nice(value: number): number {
  const unit = 10 ** Math.max(Math.floor(Math.log10(value)) - 1, 0);
  return Math.round(value / unit) * unit;
}
