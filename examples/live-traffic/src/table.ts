import type { Line, Style } from './line.ts';

export interface Column {
  readonly title: string;
  readonly width: number;
  readonly align: 'left' | 'right';
  readonly style?: Style;
}

export interface Row {
  readonly cells: readonly string[];
  /** Stands to the right of the columns. */
  readonly after: Line;
}

/** What both tables end with. */
export const OUTCOME_COLUMNS: readonly Column[] = [
  { title: 'refused', width: 7, align: 'right', style: 'red' },
  { title: 'p50 ms', width: 6, align: 'right' },
  { title: 'p99 ms', width: 6, align: 'right' },
];

/** Columns one space apart; the first line has their titles. Text that is too wide pushes the rest. */
export function table(columns: readonly Column[], rows: readonly Row[], titleAfter: Line): readonly Line[] {
  const cell = ({ width, align }: Column, text: string): string =>
    `${align === 'left' ? text.padEnd(width) : text.padStart(width)} `;
  const titles: Line = columns.map((column) => ({ text: cell(column, column.title), style: 'dim' }));
  return [
    [...titles, ...titleAfter],
    ...rows.map(({ cells, after }) => [
      ...columns.map((column, i) => {
        const text = cells[i] ?? '';
        // A zero is nothing to look at.
        return { text: cell(column, text), style: text === '0' ? 'dim' : column.style };
      }),
      ...after,
    ]),
  ];
}

/** Of seven characters at most: from a million on "1.23M". */
export function count(value: number): string {
  return value < 1_000_000
    ? value.toLocaleString('en-US')
    : value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 2 });
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '-';
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(Math.round(value));
}
