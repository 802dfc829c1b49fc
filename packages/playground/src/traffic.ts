/** One request that is offered. */
export interface Offered {
  /** Milliseconds from the start. */
  readonly atMs: number;
  /** The index of its client. */
  readonly client: number;
  readonly cost: number;
  /** How long it runs once it is allowed. */
  readonly runsMs: number;
}

/** The behaviour of denied clients. */
export const RETRY_CHOICES = [
  { id: 'none', title: 'are gone' },
  { id: 'after', title: 'come back after Retry-After' },
  { id: 'backoff', title: 'come back after 2, 4, 8, 16 bars' },
] as const;

export type Retries = Exclude<(typeof RETRY_CHOICES)[number]['id'], 'none'>;

/** The common fields of both kinds of traffic. */
interface AnyTraffic {
  /** When denied requests come back; undefined: they do not. */
  readonly retries?: Retries | undefined;
}

/** Traffic as a row of bars for each client. */
export interface Painted extends AnyTraffic {
  readonly from: 'painted';
  readonly spanMs: number;
  /** Per client, the requests of each of {@link COLUMNS} columns. */
  readonly clients: readonly (readonly number[])[];
  /** Units that each request costs. */
  readonly cost: number;
  readonly runsMs: number;
}

/** Traffic that was pasted. */
export interface Pasted extends AnyTraffic {
  readonly from: 'pasted';
  readonly spanMs: number;
  readonly clients: readonly string[];
  /** In the order of time. */
  readonly requests: readonly Offered[];
}

export type Traffic = Painted | Pasted;

export const COLUMNS = 60;
/** The most requests of a client in a column. */
export const MOST_IN_COLUMN = 50;
export const MOST_CLIENTS = 4;
/** The lengths of traffic that can be painted. */
export const SPANS_MS: readonly number[] = [
  6_000, 12_000, 30_000, 60_000, 120_000, 180_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000,
];

export const EMPTY: readonly number[] = Array.from({ length: COLUMNS }, () => 0);

/** The names of the clients, as they are shown. */
export function clientNames(traffic: Traffic): readonly string[] {
  return traffic.from === 'pasted' ? traffic.clients : traffic.clients.map((_, i) => `Client ${'ABCD'.charAt(i)}`);
}

/**
 * The requests of the traffic, in the order of time. Those of a painted column are spread evenly over it; where clients
 * coincide, the first client is first.
 */
export function offeredBy(traffic: Traffic): readonly Offered[] {
  if (traffic.from === 'pasted') return traffic.requests;
  const { spanMs, cost, runsMs } = traffic;
  const columnMs = spanMs / COLUMNS;
  return traffic.clients
    .flatMap((counts, client) =>
      counts.flatMap((count, column) =>
        Array.from({ length: count }, (_, i) => ({
          atMs: Math.floor((column + (i + 0.5) / count) * columnMs),
          client,
          cost,
          runsMs,
        })),
      ),
    )
    .sort((a, b) => a.atMs - b.atMs || a.client - b.client);
}

/** The column in which an instant is. */
export function columnOf(atMs: number, spanMs: number): number {
  return Math.min(Math.max(Math.floor((atMs / spanMs) * COLUMNS), 0), COLUMNS - 1);
}
