import type { Answer, Sample } from './replay.ts';

/** The size of the drawings below, which are stretched to where they are shown. */
export const DRAWING = { width: 1000, height: 100 } as const;

/** The remaining units of one policy, as steps from the first to the last instant: the path of an SVG. */
export function remainingPath(samples: readonly Sample[], policy: number, limit: number, spanMs: number): string {
  let path = '';
  let before: number | undefined;
  for (const { atMs, remaining } of samples) {
    const x = shortened((atMs / spanMs) * DRAWING.width);
    const y = heightOf(remaining[policy] ?? 0, limit);
    if (before === undefined) path = `M${x},${shortened(y)}`;
    else if (y !== before) path += `H${x}V${shortened(y)}`;
    before = y;
  }
  return before === undefined ? '' : `${path}H${String(DRAWING.width)}`;
}

function heightOf(remaining: number, limit: number): number {
  const share = limit === 0 ? 0 : Math.min(remaining / limit, 1);
  return DRAWING.height * (1 - share);
}

/** A stroke for every request: the path of an SVG. */
export function ticksPath(answers: readonly Answer[], spanMs: number): string {
  let path = '';
  for (const { atMs } of answers) path += `M${shortened((atMs / spanMs) * DRAWING.width)},0V${String(DRAWING.height)}`;
  return path;
}

/** The request nearest to an instant: its index in the list; -1 in an empty one. */
export function nearest(answers: readonly Answer[], atMs: number): number {
  let best = -1;
  let least = Infinity;
  for (const [i, answer] of answers.entries()) {
    const distance = Math.abs(answer.atMs - atMs);
    if (distance >= least) continue;
    best = i;
    least = distance;
  }
  return best;
}

function shortened(value: number): string {
  return String(Math.round(value * 10) / 10);
}
