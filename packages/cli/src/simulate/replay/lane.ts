import type { Limit, NamedPolicy, Part } from '@sluice/core';
import { combine, evaluate, isFastPathEligible, type KeyState } from '@sluice/core/service';
import type { Candidate, CandidateLimit } from '../candidates/candidate.ts';
import type { CostSpec } from '../keys/cost-spec.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../read/log-entry.ts';
import type { Client } from './client.ts';
import type { Holder, KeyTable } from './key-table.ts';
import { PackedStates } from './packed-states.ts';
import { WholeStates } from './whole-states.ts';

/** A limit that a request is held to, with the key and the cost that were found: what a denied request comes back with. */
export interface HeldPart {
  readonly place: number;
  readonly holder: Holder;
  readonly cost: number;
}

/**
 * One pass of a candidate over the log, with states of its own. After `decide` and `decideAgain` the fields tell more of
 * the decision.
 */
export interface Lane {
  /** Its place in `Client.denied`. */
  readonly id: number;
  /** Whether requests of one client concern no other, so that each may be spread by itself. */
  readonly isPerClient: boolean;
  retryAfterMs: number | null;
  delayMs: number;
  blocked: boolean;
  /** Whether the request was allowed. One that no limit concerns is. */
  decide(entry: LogEntry, client: Client | undefined, atMs: number): boolean;
  parts(entry: LogEntry, client: Client | undefined): readonly HeldPart[];
  decideAgain(parts: readonly HeldPart[], atMs: number): boolean;
}

type TableOf = (spec: KeySpec) => KeyTable;

export function laneOf(id: number, candidate: Candidate, clients: KeySpec, tableOf: TableOf): Lane {
  const [only] = candidate.limits;
  const isShort =
    only !== undefined &&
    candidate.limits.length === 1 &&
    candidate.select === undefined &&
    only.key.text === clients.text &&
    only.limit.policies.length === 1 &&
    isFastPathEligibleLimit(only.limit);
  return isShort ? new ShortLane(id, only, tableOf(clients)) : new GeneralLane(id, candidate, clients, tableOf);
}

/** The long states of `slidingLog` are short here too: they are in memory. */
function isFastPathEligibleLimit(limit: Limit): boolean {
  return isFastPathEligible({
    ...limit,
    policies: limit.policies.map((named) => ({
      ...named,
      algorithm: { ...named.algorithm, summarize: undefined as never },
    })),
  });
}

/** One policy by the key of the clients, which nothing but its state decides: the kernel alone, as in `consumeState`. */
class ShortLane implements Lane {
  readonly id: number;
  readonly isPerClient = true;
  retryAfterMs: number | null = 0;
  delayMs = 0;
  blocked = false;
  readonly #named: NamedPolicy;
  readonly #cost: CostSpec;
  readonly #fixed: number | undefined;
  readonly #states: PackedStates;

  constructor(id: number, { limit, cost }: CandidateLimit, table: KeyTable) {
    this.id = id;
    const named = limit.policies[0] as NamedPolicy;
    this.#named = named;
    this.#cost = cost;
    this.#fixed = cost.fixed;
    this.#states = table.keep(new PackedStates(named));
  }

  decide(entry: LogEntry, client: Client | undefined, atMs: number): boolean {
    if (client === undefined) return true;
    return this.#consume(client, this.#fixed ?? this.#cost.of(entry), atMs);
  }

  parts(entry: LogEntry, client: Client | undefined): readonly HeldPart[] {
    return client === undefined ? [] : [{ place: 0, holder: client, cost: this.#cost.of(entry) }];
  }

  decideAgain([part]: readonly HeldPart[], atMs: number): boolean {
    return part === undefined || this.#consume(part.holder, part.cost, atMs);
  }

  #consume(holder: Holder, cost: number, atMs: number): boolean {
    const { algorithm, policy } = this.#named;
    const { state, verdict } = algorithm.kernel(policy, this.#states.read(holder.id), cost, atMs);
    if (verdict.allowed) {
      this.#states.write(holder.id, state);
      this.delayMs = verdict.delayMs;
      return true;
    }
    this.retryAfterMs = verdict.retryAfterMs;
    return false;
  }
}

/** Any limits, decided together by what stores run. */
class GeneralLane implements Lane {
  readonly id: number;
  readonly isPerClient: boolean;
  retryAfterMs: number | null = 0;
  delayMs = 0;
  blocked = false;
  readonly #candidate: Candidate;
  readonly #clients: KeySpec;
  readonly #tableOf: TableOf;
  /** By the places of limits: their table and states, once a request needed them. */
  readonly #places: LimitStates[] = [];

  constructor(id: number, candidate: Candidate, clients: KeySpec, tableOf: TableOf) {
    this.id = id;
    this.#candidate = candidate;
    this.#clients = clients;
    this.#tableOf = tableOf;
    this.isPerClient = candidate.select === undefined && candidate.limits.every(({ key }) => key.text === clients.text);
  }

  decide(entry: LogEntry, client: Client | undefined, atMs: number): boolean {
    return this.decideAgain(this.parts(entry, client), atMs);
  }

  parts(entry: LogEntry, client: Client | undefined): readonly HeldPart[] {
    const { limits, select } = this.#candidate;
    const places = select?.(entry) ?? limits.keys();
    const parts: HeldPart[] = [];
    for (const place of places) {
      const { key, cost } = limits[place] as CandidateLimit;
      const holder = key.text === this.#clients.text ? client : this.#placeOf(place).table.of(entry);
      if (holder === undefined) continue;
      if (holder !== client) holder.lastSecond = Math.floor(entry.atMs / 1000);
      parts.push({ place, holder, cost: cost.of(entry) });
    }
    return parts;
  }

  decideAgain(held: readonly HeldPart[], atMs: number): boolean {
    if (held.length === 0) return true;
    const { limits } = this.#candidate;
    const keys: KeyState[] = [];
    const parts: Part[] = [];
    for (const { place, holder, cost } of held) {
      const { limit } = limits[place] as CandidateLimit;
      keys.push(this.#placeOf(place).states.of(holder.id));
      parts.push({ limit, subject: holder.key, cost });
    }
    const { answer } = evaluate({ op: 'consume', parts }, keys, atMs);
    const policies = answer.parts.flatMap((part) => part.policies);
    this.blocked = answer.parts.some(({ blocked }) => blocked);
    const { allowed, retryAfterMs, delayMs } = combine(policies, {
      cost: 1,
      blocked: this.blocked,
      source: 'memory',
      atMs,
    });
    this.retryAfterMs = retryAfterMs;
    this.delayMs = delayMs;
    return allowed && !this.blocked;
  }

  #placeOf(place: number): LimitStates {
    let found = this.#places[place];
    if (found === undefined) {
      const { key, limit } = this.#candidate.limits[place] as CandidateLimit;
      const table = this.#tableOf(key);
      found = { table, states: table.keep(new WholeStates(limit)) };
      this.#places[place] = found;
    }
    return found;
  }
}

interface LimitStates {
  readonly table: KeyTable;
  readonly states: WholeStates;
}
