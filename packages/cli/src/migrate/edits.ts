/** The text between two offsets is replaced. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function edited(text: string, edits: readonly Edit[]): string {
  let [result, from] = ['', 0];
  for (const { start, end, text: inserted } of edits.toSorted((first, second) => first.start - second.start)) {
    result += text.slice(from, start) + inserted;
    from = end;
  }
  return result + text.slice(from);
}

const CONTEXT = 2;

/** The change of a file as a unified diff. Both texts differ. */
export function unifiedDiff(path: string, before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const from = Math.max(head - CONTEXT, 0);
  const [oldEnd, nowEnd] = [old.length - tail, now.length - tail];
  const after2 = old.slice(oldEnd, oldEnd + CONTEXT);
  const lines = [
    ...marked(' ', old.slice(from, head)),
    ...middle(old.slice(head, oldEnd), now.slice(head, nowEnd)),
    ...marked(' ', after2),
  ];
  const lengths = [head - from + oldEnd - head + after2.length, head - from + nowEnd - head + after2.length];
  const place = `@@ -${String(from + 1)},${String(lengths[0])} +${String(from + 1)},${String(lengths[1])} @@`;
  return [`--- a/${path}`, `+++ b/${path}`, place, ...lines].join('\n');
}

/** The most pairs of lines that are compared: some ten megabytes. */
const MOST_PAIRS = 1_000_000;

/**
 * Lines that both have stay between those that differ: the longest common subsequence. Where that takes too much memory,
 * all lines are taken to differ.
 */
function middle(old: readonly string[], now: readonly string[]): readonly string[] {
  if (old.length * now.length > MOST_PAIRS) return [...marked('-', old), ...marked('+', now)];
  const common = commonLengths(old, now);
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${String(old[i])}`);
      i++;
      j++;
    } else if (j >= now.length || (i < old.length && lengthAt(common, i + 1, j) >= lengthAt(common, i, j + 1))) {
      lines.push(`-${String(old[i++])}`);
    } else lines.push(`+${String(now[j++])}`);
  }
  return lines;
}

function commonLengths(old: readonly string[], now: readonly string[]): readonly (readonly number[])[] {
  const lengths: number[][] = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const longer = Math.max(lengthAt(lengths, i + 1, j), lengthAt(lengths, i, j + 1));
      (lengths[i] as number[])[j] = old[i] === now[j] ? lengthAt(lengths, i + 1, j + 1) + 1 : longer;
    }
  }
  return lengths;
}

function lengthAt(lengths: readonly (readonly number[])[], i: number, j: number): number {
  return lengths[i]?.[j] ?? 0;
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => mark + line);
}
