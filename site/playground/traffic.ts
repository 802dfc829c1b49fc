/** One offered request. */
export interface Offered {
  /** Milliseconds from the start. */
  readonly atMs: number;
  /** The index of its client. */
  readonly client: number;
  readonly cost: number;
}

/** The behaviour of denied clients. */
export const RETRY_CHOICES = [
  { id: 'none', title: 'are gone' },
  { id: 'after', title: 'come back after Retry-After' },
  { id: 'backoff', title: 'come back after 2, 4, 8, 16 bars' },
] as const;

export type Retries = (typeof RETRY_CHOICES)[number]['id'];

interface AnyTraffic {
  readonly spanMs: number;
  /** How long an allowed request runs. */
  readonly runsMs: number;
  readonly retries: Retries;
}

/** Traffic as a row of bars for each client. */
export interface Painted extends AnyTraffic {
  readonly from: 'painted';
  /** The requests in each of {@link COLUMNS} columns, for each client. */
  readonly clients: readonly (readonly number[])[];
  /** Units that each request costs. */
  readonly cost: number;
}

/** Traffic that was pasted. */
export interface Pasted extends AnyTraffic {
  readonly from: 'pasted';
  readonly clients: readonly string[];
  /** In the order of time. */
  readonly requests: readonly Offered[];
}

export type Traffic = Painted | Pasted;

export const COLUMNS = 60;
/** The maximum number of requests of a client in a column. */
export const MAX_IN_COLUMN = 50;
export const MAX_CLIENTS = 4;
export const MAX_COST = 1_000_000;
/** The lengths of traffic that can be painted. */
export const SPANS_MS: readonly number[] = [
  6_000, 12_000, 30_000, 60_000, 120_000, 180_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000,
];
export const EMPTY: readonly number[] = Array.from({ length: COLUMNS }, () => 0);

/** The clients' names, as displayed. */
export function nameClients(traffic: Traffic): readonly string[] {
  return traffic.from === 'pasted' ? traffic.clients : traffic.clients.map((_, i) => `Client ${'ABCD'.charAt(i)}`);
}

/**
 * The requests of the traffic, in the order of time. Requests of a painted column are spread evenly over it; if clients
 * coincide, the first client comes first.
 */
export function listRequests(traffic: Traffic): readonly Offered[] {
  if (traffic.from === 'pasted') return traffic.requests;
  const { spanMs, cost } = traffic;
  const columnMs = spanMs / COLUMNS;
  return traffic.clients
    .flatMap((counts, client) =>
      counts.flatMap((count, column) =>
        Array.from({ length: count }, (_, i) => ({
          atMs: Math.floor((column + (i + 0.5) / count) * columnMs),
          client,
          cost,
        })),
      ),
    )
    .sort((a, b) => a.atMs - b.atMs || a.client - b.client);
}

/** A place on a row of bars: a column, and a number of requests. */
export interface Spot {
  readonly column: number;
  readonly count: number;
}

/** The place nearest to a pointer: `x` and `y` are shares of the row's width and height, from its lower left corner. */
export function findSpot(x: number, y: number, top: number): Spot {
  const clamp = (value: number, max: number): number => Math.min(Math.max(value, 0), max);
  return { column: clamp(Math.floor(x * COLUMNS), COLUMNS - 1), count: clamp(Math.round(y * top), MAX_IN_COLUMN) };
}

/** The traffic with every column set along the line from one place to another. */
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

/**
 * The height of a row in requests, for bars of up to this height: a fifth stays free, so that a bar can grow. Retries
 * may make bars higher than can be painted.
 */
export function chooseTop(highest: number): number {
  return [10, 20, 30, 40].find((top) => highest <= top * 0.8) ?? Math.max(MAX_IN_COLUMN, Math.ceil(highest / 10) * 10);
}
