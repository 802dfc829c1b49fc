import { COLUMNS, EMPTY, MOST_CLIENTS, MOST_IN_COLUMN, type Painted } from './traffic.ts';

/** A place on a row of bars: a column, and how many requests it stands for. */
export interface Spot {
  readonly column: number;
  readonly count: number;
}

/** The place under a pointer: `x` and `y` are shares of the row's width and height, from its lower left corner. */
export function spotAt(x: number, y: number, top: number): Spot {
  return { column: clamp(Math.floor(x * COLUMNS), COLUMNS - 1), count: clamp(Math.round(y * top), MOST_IN_COLUMN) };
}

/** The traffic with one column at this height, or with every column on the line from one place to the other. */
export function paint(traffic: Painted, client: number, to: Spot, from: Spot = to): Painted {
  const [first, last] = from.column <= to.column ? [from, to] : [to, from];
  const steps = Math.max(last.column - first.column, 1);
  const counts = (traffic.clients[client] ?? EMPTY).map((count, column) => {
    if (column < first.column || column > last.column) return count;
    if (column === to.column) return to.count;
    return Math.round(first.count + ((last.count - first.count) * (column - first.column)) / steps);
  });
  return { ...traffic, clients: traffic.clients.with(client, counts) };
}

export function withClient(traffic: Painted): Painted {
  if (traffic.clients.length >= MOST_CLIENTS) return traffic;
  return { ...traffic, clients: [...traffic.clients, EMPTY] };
}

export function withoutClient(traffic: Painted, client: number): Painted {
  if (traffic.clients.length === 1) return { ...traffic, clients: [EMPTY] };
  return { ...traffic, clients: traffic.clients.filter((_, i) => i !== client) };
}

/**
 * The height of a row in requests, for bars of these heights: a fifth stays free, so that a bar can grow. Retries may
 * make bars higher than can be painted.
 */
export function topOf(most: number): number {
  return [10, 20, 30, 40].find((top) => most <= top * 0.8) ?? Math.max(MOST_IN_COLUMN, Math.ceil(most / 10) * 10);
}

function clamp(value: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), most) : 0;
}
