import { memoryStore, type Ask, type MemoryStore } from '@sluice/core';
import type { Candidate, CandidateLimit } from './candidate.ts';
import { Clients, copyText, type Client } from './clients.ts';
import type { Entry } from './formats/entry.ts';
import type { KeySpec } from './key.ts';
import { Peaks } from './peaks.ts';

/** The places in figures that tell whether a key allows a request, and how long it is delayed. */
const [ALLOWED, DELAY] = [0, 6] as const;
const MAX_TEXT = 200;
const MAX_AGENTS = 10;

export interface ReplayOptions {
  readonly candidates: readonly Candidate[];
  /** The key that identifies a client in the report. */
  readonly key: KeySpec;
  /** How many keys each candidate and the report remember. */
  readonly maxKeys: number;
  /** Called with each decision, and the number of its candidate. */
  readonly onDecision?: ((entry: Entry, candidate: number, allowed: boolean) => void) | undefined;
}

/** A candidate during the replay of a log: a memory store with the log's clock. */
export class Trial {
  denied = 0;
  deniedSucceeded = 0;
  clients = 0;
  delayed = 0;
  delaySumMs = 0;
  maxDelayMs = 0;
  /** For each limit with its own key, the requests without that key, which it did not limit. */
  readonly withoutKey: number[];
  readonly candidate: Candidate;
  readonly #store: MemoryStore;
  readonly #clients: KeySpec;

  constructor(candidate: Candidate, clients: KeySpec, store: MemoryStore) {
    this.candidate = candidate;
    this.withoutKey = candidate.limits.map(() => 0);
    this.#clients = clients;
    this.#store = store;
  }

  /** Whether the request is allowed, as it is if no limit applies. */
  decide(entry: Entry, client: Client | undefined): boolean {
    const { limits } = this.candidate;
    const asks: Ask[] = [];
    for (let i = 0; i < limits.length; i++) {
      const { policy, key: spec } = limits[i] as CandidateLimit;
      const isOfClients = spec.text === this.#clients.text;
      const key = isOfClients ? client?.key : spec.read(entry);
      // A concatenated string would have to be hashed again for every request.
      if (key !== undefined) asks.push({ key: limits.length === 1 ? key : `${key}}:${String(i)}`, policy, cost: 1 });
      else if (!isOfClients) this.withoutKey[i] = (this.withoutKey[i] as number) + 1;
    }
    if (asks.length === 0) return true;
    const { figures } = this.#store.perform('take', asks);
    let [allowed, delayMs] = [true, 0];
    for (const one of figures) {
      if (one[ALLOWED] !== 1) allowed = false;
      delayMs = Math.max(delayMs, one[DELAY] as number);
    }
    if (allowed && delayMs > 0) {
      this.delayed++;
      this.delaySumMs += delayMs;
      this.maxDelayMs = Math.max(this.maxDelayMs, delayMs);
    }
    return allowed;
  }
}

/** Replays requests through all candidates, in virtual time that never goes back. */
export class Replay {
  readonly trials: readonly Trial[];
  readonly clients: Clients;
  readonly peaks: Peaks;
  clientCount = 0;
  requests = 0;
  succeeded = 0;
  withoutKey = 0;
  /** Requests that are out of order in the log, and count at the time already reached. */
  late = 0;
  firstAtMs = 0;
  lastAtMs = 0;
  isWholeSeconds = true;
  readonly #options: ReplayOptions;

  constructor(options: ReplayOptions) {
    const { candidates, key, maxKeys } = options;
    this.#options = options;
    this.peaks = new Peaks(candidates, key);
    this.clients = new Clients(maxKeys, (client) => {
      this.#fold(client);
    });
    const clock = { now: () => this.lastAtMs };
    this.trials = candidates.map((candidate) => new Trial(candidate, key, memoryStore({ maxKeys, clock })));
  }

  add(entry: Entry): void {
    if (this.requests++ === 0) this.firstAtMs = this.lastAtMs = entry.atMs;
    if (entry.atMs % 1000 !== 0) this.isWholeSeconds = false;
    if (entry.atMs < this.lastAtMs) {
      this.late++;
      entry.atMs = this.lastAtMs;
    }
    this.lastAtMs = entry.atMs;
    const { succeeded } = entry;
    if (succeeded) this.succeeded++;
    const client = this.#clientOf(entry);
    if (client === undefined) this.withoutKey++;
    else {
      client.requests++;
      this.peaks.add(client, entry.atMs, succeeded);
    }
    for (let i = 0; i < this.trials.length; i++) {
      const trial = this.trials[i] as Trial;
      const allowed = trial.decide(entry, client);
      if (!allowed) {
        trial.denied++;
        if (succeeded) trial.deniedSucceeded++;
        if (client !== undefined) this.#deny(entry, client, i);
      }
      this.#options.onDecision?.(entry, i, allowed);
    }
  }

  /** Ends the log. */
  end(): void {
    for (const client of this.clients.all()) this.#fold(client);
  }

  /** The clients that a candidate denies most. */
  top(candidate: number, count: number): readonly Client[] {
    const countDenied = ({ denied = [] }: Client): number => denied[candidate] ?? 0;
    const touched = [...this.clients.gone, ...this.clients.all()].filter((client) => countDenied(client) > 0);
    return touched.sort((one, other) => countDenied(other) - countDenied(one)).slice(0, count);
  }

  #clientOf(entry: Entry): Client | undefined {
    const { key } = this.#options;
    // A canonical address is found unchanged; no other text equals one.
    const found = key.isAddress && entry.address !== undefined ? this.clients.find(entry.address) : undefined;
    if (found !== undefined) return found;
    const text = key.read(entry);
    return text === undefined ? undefined : this.clients.get(text);
  }

  #deny(entry: Entry, client: Client, candidate: number): void {
    const { atMs } = entry;
    const denied = (client.denied ??= this.trials.map(() => 0));
    if (denied[candidate] === 0) (this.trials[candidate] as Trial).clients++;
    denied[candidate] = (denied[candidate] as number) + 1;
    const sample = (client.sample ??= { firstAtMs: atMs, lastAtMs: atMs, path: '', agents: new Set() });
    sample.lastAtMs = atMs;
    sample.path = copyText(entry.path.slice(0, MAX_TEXT));
    const agent = entry.get('userAgent')?.slice(0, MAX_TEXT);
    if (agent !== undefined && sample.agents.size < MAX_AGENTS) sample.agents.add(copyText(agent));
  }

  #fold(client: Client): void {
    this.clientCount++;
    this.peaks.fold(client);
  }
}
