import type { Line } from './line.ts';

const NARROWEST = 20;
const WIDEST = 40;
/** What the tables take, with the space before the bars. */
const TABLES = 80;

/** How wide bars beside the tables can be: 0 where there is no room. */
export function barWidth(columns: number): number {
  const room = columns - TABLES;
  return room < NARROWEST ? 0 : Math.min(room, WIDEST);
}

/** The share of `total` that went well, and that did not; told apart without colours too. */
export function bar(well: number, badly: number, total: number, width: number): Line {
  if (total === 0 || width === 0) return [];
  const wellUntil = Math.round((well / total) * width);
  const badlyUntil = Math.round(((well + badly) / total) * width);
  return [
    { text: '█'.repeat(wellUntil), style: 'green' },
    { text: '▒'.repeat(badlyUntil - wellUntil), style: 'red' },
  ];
}

export function barTitle(title: string, width: number): Line {
  return [{ text: title.slice(0, width), style: 'dim' }];
}
