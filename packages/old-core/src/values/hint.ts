type Table<Value> = Readonly<Record<string, Value>>;

/** Options of other packages, by their names there. */
export interface OtherNames {
  /**
   * The names here to suggest, of which the first that exists in the place of the option is meant; and the line to write
   * for an option with this value, undefined where the name says enough.
   */
  readonly names: Table<
    readonly [names: readonly string[], line?: (value: unknown, option: string) => string | undefined]
  >;
  /** What to do where there is no such option here. */
  readonly instead: Table<string>;
}

let others: OtherNames | undefined;

/** Adds them to the hints of this process. */
export function tellOfOthers(names: OtherNames): OtherNames {
  return (others = names);
}

/** How to write some options, where the name alone does not say it. */
const WRITTEN_FOR_OPTION: Readonly<Record<string, string>> = {
  policy: 'policy: fixedWindow({ limit: 100, window: "1m" })',
};

/**
 * What to write instead of an option that does not exist: the line of an option of another package with the value that
 * came, or the known name that was probably meant, or all known names.
 */
export function hintFor(name: string, value: unknown, known: readonly string[]): string {
  const instead = entryOf(others?.instead, name);
  if (instead !== undefined) return instead;
  const meant = nearest(name, known);
  if (meant === undefined) return `known: ${listed(known)}`;
  const [names, line] = entryOf(others?.names, name) ?? [];
  const written = meant !== 'policy' && names?.includes(meant) === true ? line?.(value, meant) : undefined;
  return `did you mean ${written ?? entryOf(WRITTEN_FOR_OPTION, meant) ?? JSON.stringify(meant)}?`;
}

/** An own entry of a table: a given name such as `constructor` finds nothing. */
function entryOf<Value>(table: Table<Value> = {}, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The one of `known` that `name` probably means, if any is near: by a table of option names of other libraries, then by
 * edit distance.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const same = entryOf(others?.names, name)?.[0].find((candidate) => known.includes(candidate));
  if (same !== undefined) return same;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** A hint for a name that does not exist: the nearest of those that do or, when none is near, all of them. */
export function insteadOf(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? `known: ${known.join(', ')}` : `did you mean ${meant}?`;
}

/** Names as a list in a sentence. */
export function listed(names: readonly string[], word: 'and' | 'or' = 'and'): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1) ?? ''}`;
}

/** The Levenshtein distance, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
