import { COLUMNS, EMPTY, MAX_IN_COLUMN, SPANS_MS, type Painted, type Retries } from './traffic.ts';

/** The scale of a preset: how many units the policies allow, and in what time. */
export interface Scale {
  readonly units: number;
  readonly windowMs: number;
}

export interface Preset {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** When denied requests come back. */
  readonly retries?: Retries;
  /** The requests in each column, for each client. `perColumn`: what the policies allow in the long run. */
  readonly draw: (of: {
    readonly perColumn: number;
    readonly units: number;
    readonly columnsPerWindow: number;
  }) => readonly (readonly number[])[];
}

export const PRESETS: readonly Preset[] = [
  {
    id: 'steady',
    title: 'Steady',
    description: 'One client, at three quarters of what is allowed.',
    draw: ({ perColumn }) => [each((column) => onAverage(perColumn * 0.75, column))],
  },
  {
    id: 'burst',
    title: 'Burst',
    description: 'A calm client that suddenly asks for twice the limit, and later for a little less than it.',
    draw: ({ perColumn, units }) => [
      each((column) => {
        if (isIn(column, 12, 18)) return spread(units * 2, 6, column - 12);
        if (isIn(column, 44, 47)) return spread(units * 0.9, 3, column - 44);
        return onAverage(perColumn * 0.3, column);
      }),
    ],
  },
  {
    id: 'edge',
    title: 'Window-edge attack',
    description: 'Sends the whole limit right before a window ends, and again right after.',
    draw: ({ units, columnsPerWindow: edge }) => [
      each((column) => {
        // The first request starts a window that begins with the first unit of a key.
        if (column === 0) return 1;
        const wide = Math.max(Math.ceil(units / MAX_IN_COLUMN), Math.min(2, edge / 2));
        const inBefore = (column % (2 * edge)) - (edge - wide);
        if (inBefore >= 0 && inBefore < wide) return spread(units - 1, wide, inBefore);
        // One column later, because that window began within the first column.
        const inAfter = (column % (2 * edge)) - edge - 1;
        return inAfter >= 0 && inAfter < wide ? spread(units, wide, inAfter) : 0;
      }),
    ],
  },
  {
    id: 'storm',
    title: 'Retry storm',
    description: 'What is denied comes back together, after 2, 4, 8 and 16 bars: a backoff without jitter.',
    retries: 'backoff',
    draw: ({ perColumn, units }) => [
      each((column) =>
        isIn(column, 10, 12) ? spread(units * 1.6, 2, column % 2) : onAverage(perColumn * 0.4, column),
      ),
    ],
  },
  {
    id: 'clients',
    title: 'Several clients',
    description: 'A calm one, one that asks for three times too much, and one that comes in bursts.',
    draw: ({ perColumn, units }) => [
      each((column) => onAverage(perColumn * 0.5, column)),
      each((column) => (column < 6 ? 0 : onAverage(perColumn * 3, column))),
      each((column) => (column % 15 < 3 && column > 4 ? spread(units * 0.6, 3, column % 15) : 0)),
    ],
  },
];

/** The traffic of a preset, fitted to what the policies allow. */
export function drawPreset(preset: Preset, { units, windowMs }: Scale, runsMs: number): Painted {
  const spanMs = SPANS_MS.find((span) => span >= windowMs * 3) ?? 86_400_000;
  // A row of bars holds a few hundred requests. Beyond that, each request costs more.
  const cost = Math.max(Math.ceil(units / 120), 1);
  const requests = Math.max(Math.floor(units / cost), 1);
  const columnsPerWindow = Math.max(Math.min(Math.round((windowMs / spanMs) * COLUMNS), COLUMNS), 1);
  const clients = preset.draw({ perColumn: requests / columnsPerWindow, units: requests, columnsPerWindow });
  return {
    from: 'painted',
    spanMs,
    clients: clients.map((counts) => counts.map((count) => Math.min(Math.max(count, 0), MAX_IN_COLUMN))),
    cost,
    runsMs,
    retries: preset.retries ?? 'none',
  };
}

function each(count: (column: number) => number): readonly number[] {
  return EMPTY.map((_, column) => Math.round(count(column)));
}

/** A whole number for each column, whose average over all columns is this number. */
function onAverage(perColumn: number, column: number): number {
  return Math.floor(perColumn * (column + 1)) - Math.floor(perColumn * column);
}

/** One column's part of units that are spread over several. */
function spread(units: number, columns: number, column: number): number {
  return onAverage(units / columns, column);
}

function isIn(column: number, from: number, to: number): boolean {
  return column >= from && column < to;
}
