import { ownText } from '@sluice/core/spi';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { TimeSpans } from '../clients/time-series.ts';

/** Counts over the denied requests of one client. */
export interface DeniedDetail {
  readonly firstAtMs: number;
  lastAtMs: number;
  readonly userAgents: Map<string, number>;
  readonly paths: Map<string, number>;
  readonly statuses: Map<number, number>;
  /** Set where there were more texts than are held. */
  hasMore: boolean;
}

/** Clients whose denied requests are looked at. */
const MOST_DETAILED = 2000;
const MOST_TEXTS = 32;
const LONGEST_TEXT = 200;
/** Clients that were dropped from the table, and stay in the list of those denied most. */
const MOST_GONE = 1000;

/** The result of a candidate on the log, as it is stamped. */
export class Tally {
  denied = 0;
  /** Denied because denials before had led to a block. */
  blocked = 0;
  deniedSucceeded = 0;
  delayed = 0;
  delaySumMs = 0;
  longestDelayMs = 0;
  clients = 0;
  readonly byTime: number[];
  readonly details: Map<Client, DeniedDetail> = new Map<Client, DeniedDetail>();
  gone: Client[] = [];
  readonly #spans: TimeSpans;
  readonly #lane: number;

  constructor(lane: number, spans: TimeSpans) {
    this.#lane = lane;
    this.#spans = spans;
    this.byTime = spans.series();
  }

  deny(entry: LogEntry, client: Client | undefined, blocked: boolean): void {
    this.denied++;
    if (blocked) this.blocked++;
    if (entry.succeeded) this.deniedSucceeded++;
    const span = this.#spans.of(entry.atMs);
    this.byTime[span] = (this.byTime[span] ?? 0) + 1;
    if (client !== undefined) this.#note(entry, client);
  }

  delay(delayMs: number): void {
    this.delayed++;
    this.delaySumMs += delayMs;
    this.longestDelayMs = Math.max(this.longestDelayMs, delayMs);
  }

  drop(client: Client): void {
    if ((client.denied?.[this.#lane] ?? 0) === 0) return;
    this.gone.push(client);
    if (this.gone.length > 2 * MOST_GONE) this.gone = this.#most(this.gone, MOST_GONE);
  }

  /** The clients with most denials. */
  top(clients: Iterable<Client>, count: number): readonly Client[] {
    const touched = [...this.gone];
    for (const client of clients) if ((client.denied?.[this.#lane] ?? 0) > 0) touched.push(client);
    return this.#most(touched, count);
  }

  #most(clients: readonly Client[], count: number): Client[] {
    const of = (client: Client): number => client.denied?.[this.#lane] ?? 0;
    return clients.toSorted((one, other) => of(other) - of(one)).slice(0, count);
  }

  #note(entry: LogEntry, client: Client): void {
    let detail = this.details.get(client);
    if (detail === undefined) {
      if (this.details.size >= MOST_DETAILED) this.#forgetHalf();
      detail = {
        ...{ firstAtMs: entry.atMs, lastAtMs: entry.atMs, hasMore: false },
        ...{ userAgents: new Map(), paths: new Map(), statuses: new Map() },
      };
      this.details.set(client, detail);
    }
    detail.lastAtMs = entry.atMs;
    const isAgentNew = count(detail.userAgents, entry.detail.userAgent ?? '-');
    const isPathNew = count(detail.paths, entry.path);
    detail.hasMore ||= isAgentNew || isPathNew;
    detail.statuses.set(entry.status, (detail.statuses.get(entry.status) ?? 0) + 1);
  }

  #forgetHalf(): void {
    const kept = new Set(this.#most([...this.details.keys()], MOST_DETAILED / 2));
    for (const client of this.details.keys()) if (!kept.has(client)) this.details.delete(client);
  }
}

/** Counts a text, unless there is no room for another one: then it returns true. */
function count(counts: Map<string, number>, text: string): boolean {
  const cut = text.slice(0, LONGEST_TEXT);
  const known = counts.get(cut);
  if (known === undefined && counts.size >= MOST_TEXTS) return true;
  if (known === undefined) counts.set(ownText(cut), 1);
  else counts.set(cut, known + 1);
  return false;
}
