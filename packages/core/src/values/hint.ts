/** What is known of options of other packages. */
export interface OtherNames {
  /** The names here to suggest for one of another package: the first that exists in the place of the option. */
  meanings(name: string): readonly string[] | undefined;
  /** The line to write for an option of another package with this value. */
  written(name: string, value: unknown, option: string): string | undefined;
  /** What to do instead of an option that does not exist here. */
  instead(name: string): string | undefined;
}

let others: OtherNames | undefined;

/** From then on, hints know the options of other packages. */
export function tellOfOthers(names: OtherNames): OtherNames {
  others = names;
  return names;
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
  const instead = others?.instead(name);
  if (instead !== undefined) return instead;
  const meant = nearest(name, known);
  if (meant === undefined) return `known: ${listed(known)}`;
  const written =
    others?.meanings(name)?.includes(meant) === true && meant !== 'policy'
      ? others.written(name, value, meant)
      : undefined;
  return `did you mean ${written ?? entryOf(WRITTEN_FOR_OPTION, meant) ?? JSON.stringify(meant)}?`;
}

/** An own entry of a table: a given name such as `constructor` finds nothing. */
export function entryOf<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The one of `known` that `name` probably means, if any is near: by a table of option names of other libraries, then by
 * edit distance.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const same = others?.meanings(name)?.find((candidate) => known.includes(candidate));
  if (same !== undefined) return same;
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
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
