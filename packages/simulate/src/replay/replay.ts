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
import { Retries } from './retries.ts';
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
  readonly retry: boolean;
  /** Whether curves are kept for the HTML report. */
  readonly curves: boolean;
  readonly onDecision?: OnDecision | undefined;
}

/** The state of a candidate while the log is replayed. */
export interface Trial {
  readonly candidate: Candidate;
  readonly tally: Tally;
  /** The log as it is stamped. */
  readonly stamped: Lane;
  /** Where stamps are whole seconds: requests spread over theirs, and pressed together from two seconds. */
  readonly placements: readonly Placement[];
  readonly retries: Retries | undefined;
  readonly retryLane: Lane | undefined;
}

interface Placement {
  readonly lane: Lane;
  readonly kind: 'spread' | 'pressed';
  denied: number;
  clients: number;
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
  readonly #lanes: number;
  /** The client of each entry of the present second, and its place among the client's requests. */
  readonly #found: (Client | undefined)[] = [];
  readonly #places: number[] = [];

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
    let lanes = 0;
    const lane = (candidate: Candidate): Lane => laneOf(lanes++, candidate, key, (spec) => this.#tableOf(spec));
    this.trials = candidates.map((candidate): Trial => {
      const stamped = lane(candidate);
      const kinds: readonly Placement['kind'][] = ['spread', 'pressed'];
      const placements = kinds.map((kind) => ({ lane: lane(candidate), kind, denied: 0, clients: 0 }));
      const retryLane = options.retry ? lane(candidate) : undefined;
      const retries = retryLane === undefined ? undefined : new Retries(retryLane, maxKeys);
      return { candidate, stamped, placements, retryLane, retries, tally: new Tally(stamped.id, this.spans) };
    });
    this.#lanes = lanes;
  }

  /** Keys dropped from all tables, and those of them whose states still counted. */
  get dropped(): { readonly keys: number; readonly live: number } {
    const tables = [...this.#tables.values()];
    return {
      keys: tables.reduce((sum, table) => sum + table.dropped, 0),
      live: tables.reduce((sum, table) => sum + table.droppedLive, 0),
    };
  }

  /**
   * @param entries - Of one second, in the order of their instants.
   * @param isCoarse - Whether stamps are whole seconds, so that it is also tried where in them the requests were.
   */
  add(entries: readonly LogEntry[], second: number, isCoarse: boolean): void {
    for (const table of this.#tables.values()) table.begin();
    this.#find(entries, second);
    this.#note(entries, second);
    for (const [i, trial] of this.trials.entries()) {
      this.#decide(trial, i, entries);
      if (isCoarse) for (const placement of trial.placements) this.#place(placement, entries, second);
      if (trial.retries !== undefined) this.#retry(trial, trial.retries, entries);
    }
  }

  /** Ends the log. */
  end(): void {
    for (const client of this.clients.holders()) this.peaks.fold(client);
    for (const { retries } of this.trials) retries?.until(this.lastAtMs);
  }

  #find(entries: readonly LogEntry[], second: number): void {
    const [found, places] = [this.#found, this.#places];
    found.length = entries.length;
    for (let i = 0; i < entries.length; i++) {
      const client = this.clients.of(entries[i] as LogEntry);
      found[i] = client;
      if (client === undefined) continue;
      if (client.lastSecond !== second) {
        client.lastSecond = second;
        client.inSecond = 0;
      }
      places[i] = client.inSecond++;
    }
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

  #decide({ stamped, tally }: Trial, candidate: number, entries: readonly LogEntry[]): void {
    const { onDecision } = this.#options;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as LogEntry;
      const client = this.#found[i];
      stamped.delayMs = 0;
      const allowed = stamped.decide(entry, client, entry.atMs);
      if (!allowed) {
        if (client !== undefined && this.#isFirst(client, stamped)) tally.clients++;
        tally.deny(entry, client, stamped.blocked);
      } else if (stamped.delayMs > 0) tally.delay(stamped.delayMs);
      onDecision?.(entry, client?.key, candidate, allowed);
    }
  }

  #place(placement: Placement, entries: readonly LogEntry[], second: number): void {
    const { lane, kind } = placement;
    const startMs = second * SECOND_MS;
    const pressedMs = second % 2 === 0 ? startMs + SECOND_MS - 1 : startMs;
    for (let i = 0; i < entries.length; i++) {
      const client = this.#found[i];
      const place =
        client !== undefined && lane.isPerClient ? (this.#places[i] as number) / client.inSecond : i / entries.length;
      const atMs = kind === 'pressed' ? pressedMs : startMs + Math.floor(place * SECOND_MS);
      if (lane.decide(entries[i] as LogEntry, client, atMs)) continue;
      placement.denied++;
      if (client !== undefined && this.#isFirst(client, lane)) placement.clients++;
    }
  }

  #retry({ retryLane }: Trial, retries: Retries, entries: readonly LogEntry[]): void {
    if (retryLane === undefined) return;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as LogEntry;
      retries.until(entry.atMs);
      const parts = retryLane.parts(entry, this.#found[i]);
      if (!retryLane.decideAgain(parts, entry.atMs)) retries.denied(parts, entry.atMs);
    }
  }

  /** Counts a denial of a client, and tells whether it is the first of this lane. */
  #isFirst(client: Client, { id }: Lane): boolean {
    const denied = (client.denied ??= new Array<number>(this.#lanes).fill(0));
    denied[id] = (denied[id] ?? 0) + 1;
    return denied[id] === 1;
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
