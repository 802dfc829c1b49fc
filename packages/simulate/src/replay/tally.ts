import { ownText } from '@sluice/old-core/spi';
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
  deniedSucceeded = 0;
  delayed = 0;
  delaySumMs = 0;
  longestDelayMs = 0;
  clients = 0;
  readonly byTime: number[];
  readonly details: Map<Client, DeniedDetail> = new Map<Client, DeniedDetail>();
  gone: Client[] = [];
  readonly #spans: TimeSpans;
  readonly #candidate: number;

  constructor(candidate: number, spans: TimeSpans) {
    this.#candidate = candidate;
    this.#spans = spans;
    this.byTime = spans.series();
  }

  deny(entry: LogEntry, client: Client | undefined): void {
    this.denied++;
    if (entry.succeeded) this.deniedSucceeded++;
    const span = this.#spans.of(entry.atMs);
    this.byTime[span] = (this.byTime[span] ?? 0) + 1;
    if (client === undefined) return;
    const denied = (client.denied ??= []);
    const before = denied[this.#candidate] ?? 0;
    denied[this.#candidate] = before + 1;
    if (before === 0) this.clients++;
    this.#note(entry, client);
  }

  delay(delayMs: number): void {
    this.delayed++;
    this.delaySumMs += delayMs;
    this.longestDelayMs = Math.max(this.longestDelayMs, delayMs);
  }

  drop(client: Client): void {
    if (this.deniedOf(client) === 0) return;
    this.gone.push(client);
    if (this.gone.length > 2 * MOST_GONE) this.gone = this.#most(this.gone, MOST_GONE);
  }

  deniedOf(client: Client): number {
    return client.denied?.[this.#candidate] ?? 0;
  }

  /** The clients with most denials. */
  top(clients: Iterable<Client>, count: number): readonly Client[] {
    const touched = [...this.gone];
    for (const client of clients) if (this.deniedOf(client) > 0) touched.push(client);
    return this.#most(touched, count);
  }

  #most(clients: readonly Client[], count: number): Client[] {
    return clients.toSorted((one, other) => this.deniedOf(other) - this.deniedOf(one)).slice(0, count);
  }

  #note(entry: LogEntry, client: Client): void {
    let detail = this.details.get(client);
    if (detail === undefined) {
      if (this.details.size >= MOST_DETAILED) this.#forgetHalf();
      detail = {
        ...{ firstAtMs: entry.atMs, lastAtMs: entry.atMs },
        ...{ userAgents: new Map(), paths: new Map(), statuses: new Map() },
      };
      this.details.set(client, detail);
    }
    detail.lastAtMs = entry.atMs;
    count(detail.userAgents, entry.detail.userAgent ?? '-');
    count(detail.paths, entry.path);
    detail.statuses.set(entry.status, (detail.statuses.get(entry.status) ?? 0) + 1);
  }

  #forgetHalf(): void {
    const kept = new Set(this.#most([...this.details.keys()], MOST_DETAILED / 2));
    for (const client of this.details.keys()) if (!kept.has(client)) this.details.delete(client);
  }
}

/** Counts a text, unless there is no room for another one. */
function count(counts: Map<string, number>, text: string): void {
  const cut = text.slice(0, LONGEST_TEXT);
  const known = counts.get(cut);
  if (known !== undefined) counts.set(cut, known + 1);
  else if (counts.size < MOST_TEXTS) counts.set(ownText(cut), 1);
}
