import type { Candidate } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import { Levels } from '../peaks/levels.ts';
import { Peaks } from '../peaks/peaks.ts';
import { windowsFor } from '../peaks/windows.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import { Client } from '../clients/client.ts';
import { Holder, KeyTable } from '../clients/key-table.ts';
import { laneOf } from './lane-of.ts';
import type { Lane } from './lane.ts';
import { Tally } from './tally.ts';
import { TimeSpans } from '../clients/time-series.ts';

const SECOND_MS = 1000;

/** A decision as `--decisions` writes it. */
export type OnDecision = (entry: LogEntry, key: string | undefined, candidate: number, allowed: boolean) => void;

export interface ReplayOptions {
  readonly candidates: readonly Candidate[];
  /** The name of a client in the report. */
  readonly key: KeySpec;
  readonly maxKeys: number;
  /** Whether curves are kept for the HTML report. */
  readonly curves: boolean;
  readonly onDecision?: OnDecision | undefined;
}

/** The state of a candidate while the log is replayed. */
export interface Trial {
  readonly candidate: Candidate;
  readonly lane: Lane;
  readonly tally: Tally;
}

/** Replays entries, one second at a time, through all candidates. */
export class Replay {
  readonly spans: TimeSpans = new TimeSpans();
  readonly offered: number[] = this.spans.series();
  readonly trials: readonly Trial[];
  readonly clients: KeyTable<Client>;
  readonly peaks: Peaks;
  /** The limits of the slider. */
  readonly levels: Levels;
  requests = 0;
  withoutKey = 0;
  succeeded = 0;
  firstAtMs: number = Infinity;
  lastAtMs: number = -Infinity;
  readonly #options: ReplayOptions;
  readonly #tables = new Map<string, KeyTable>();
  /** The client of each entry of the present second. */
  readonly #found: (Client | undefined)[] = [];

  constructor(options: ReplayOptions) {
    this.#options = options;
    const { key, maxKeys, candidates } = options;
    this.clients = new KeyTable<Client>(
      key,
      maxKeys,
      (text, id) => new Client(text, id),
      (client) => {
        this.#forget(client);
      },
    );
    this.#tables.set(key.text, this.clients as unknown as KeyTable);
    this.levels = new Levels(candidates);
    this.peaks = new Peaks(windowsFor(candidates, key), options.curves ? this : undefined);
    this.trials = candidates.map((candidate, i) => ({
      candidate,
      lane: laneOf(candidate, key, (spec) => this.#tableOf(spec)),
      tally: new Tally(i, this.spans),
    }));
  }

  /** Keys dropped from all tables, and those of them whose states still counted. */
  get dropped(): { readonly keys: number; readonly live: number } {
    const tables = [...this.#tables.values()];
    return {
      keys: tables.reduce((sum, table) => sum + table.dropped, 0),
      live: tables.reduce((sum, table) => sum + table.droppedLive, 0),
    };
  }

  /** @param entries - Of one second, in the order of their instants. */
  add(entries: readonly LogEntry[], second: number): void {
    for (const table of this.#tables.values()) table.begin();
    this.#find(entries);
    this.#note(entries, second);
    for (const [i, trial] of this.trials.entries()) this.#decide(trial, i, entries);
  }

  /** Ends the log. */
  end(): void {
    for (const client of this.clients.holders()) this.peaks.fold(client);
  }

  #find(entries: readonly LogEntry[]): void {
    const found = this.#found;
    found.length = entries.length;
    for (let i = 0; i < entries.length; i++) found[i] = this.clients.of(entries[i] as LogEntry);
  }

  #note(entries: readonly LogEntry[], second: number): void {
    const span = this.spans.of(second * SECOND_MS);
    this.offered[span] = (this.offered[span] ?? 0) + entries.length;
    this.requests += entries.length;
    this.firstAtMs = Math.min(this.firstAtMs, entries[0]?.atMs ?? Infinity);
    this.lastAtMs = Math.max(this.lastAtMs, entries.at(-1)?.atMs ?? -Infinity);
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as LogEntry;
      const client = this.#found[i];
      if (entry.succeeded) this.succeeded++;
      if (client === undefined) {
        this.withoutKey++;
        continue;
      }
      client.requests++;
      this.peaks.add(client, entry.atMs, entry.succeeded);
    }
  }

  #decide({ lane, tally }: Trial, candidate: number, entries: readonly LogEntry[]): void {
    const { onDecision } = this.#options;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as LogEntry;
      const client = this.#found[i];
      const allowed = lane.decide(entry, client);
      if (!allowed) tally.deny(entry, client);
      else if (lane.delayMs > 0) tally.delay(lane.delayMs);
      onDecision?.(entry, client?.key, candidate, allowed);
    }
  }

  #forget(client: Client): void {
    this.peaks.fold(client);
    this.peaks.forget(client);
    for (const { tally } of this.trials) tally.drop(client);
  }

  #tableOf(spec: KeySpec): KeyTable {
    let table = this.#tables.get(spec.text);
    if (table === undefined) {
      table = new KeyTable(
        spec,
        this.#options.maxKeys,
        (text, id) => new Holder(text, id),
        () => undefined,
      );
      this.#tables.set(spec.text, table);
    }
    return table;
  }
}
