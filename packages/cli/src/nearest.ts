// Core has the same for its options, and does not show it: too little to be public for. Nor would its table of names from
// other libraries fit here.

/** What to write instead of a name that does not exist: the nearest of those that do or, when none is near, all of them. */
export function insteadOf(name: string, known: readonly string[]): string {
  const most = Math.max(2, Math.floor(name.length / 3));
  const [best] = known
    .map((candidate) => ({ candidate, distance: distanceOf(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return best === undefined ? `known: ${known.join(', ')}` : `did you mean ${best.candidate}?`;
}

/** Levenshtein's distance, row by row. */
function distanceOf(a: string, b: string): number {
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
