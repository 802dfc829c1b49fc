/** The option here that corresponds to another package's, or what to do instead; nothing if neither is known. */
export type Elsewhere = (
  name: string,
  known: readonly string[],
) => { readonly instead?: string | undefined; readonly meant?: string };

let elsewhere: Elsewhere = () => ({});

/** Registers the options of other packages. */
export function knowElsewhere(names: Elsewhere): Elsewhere {
  return (elsewhere = names);
}

/** What to write instead of an unknown option: the name that was probably meant, or all known names. */
export function suggest(name: string, known: readonly string[]): string {
  const { instead, meant = nearest(name, known) } = elsewhere(name, known);
  if (instead !== undefined) return instead;
  return meant === undefined ? `known: ${listed(known)}` : `did you mean ${JSON.stringify(meant)}?`;
}

/** The name with the smallest edit distance, if it is close enough to be the one that was meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
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
