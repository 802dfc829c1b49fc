import type { NamedPolicy, Part, PolicyDecision } from '@sluice/core';
import { evaluate, type KeyState } from '@sluice/core/spi';
import type { Candidate, CandidateLimit, SelectedLimit } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { KeyTable } from '../clients/key-table.ts';
import type { HeldPart, Lane, TableOf } from './lane.ts';
import { PackedStates } from './packed-states.ts';
import { WholeStates } from './whole-states.ts';

/** The settings of a lane of several limits. */
interface Together {
  readonly candidate: Candidate;
  readonly clients: KeySpec;
  /** Whether nothing but the states of the policies decides: then the kernels alone do. */
  readonly areShort: boolean;
}

/** Any limits, decided together: by their kernels or, where denials are written too, by what stores run. */
export class GeneralLane implements Lane {
  readonly id: number;
  readonly isPerClient: boolean;
  readonly withoutKey: number[] = [];
  retryAfterMs: number | null = 0;
  delayMs = 0;
  blocked = false;
  readonly #candidate: Candidate;
  readonly #clients: KeySpec;
  readonly #areShort: boolean;
  readonly #tableOf: TableOf;
  readonly #all: readonly SelectedLimit[];
  /** By the places of limits: their table and states, once a request needed them. */
  readonly #places: LimitStates[] = [];
  /** The states after a decision, of one policy after the other. */
  readonly #after: unknown[] = [];

  constructor(id: number, { candidate, clients, areShort }: Together, tableOf: TableOf) {
    this.id = id;
    this.#candidate = candidate;
    this.#clients = clients;
    this.#areShort = areShort;
    this.#tableOf = tableOf;
    this.#all = candidate.limits.map((_, place) => ({ place, mode: 'enforced' }));
    this.isPerClient = candidate.select === undefined && candidate.limits.every(({ key }) => key.text === clients.text);
  }

  decide(entry: LogEntry, client: Client | undefined, atMs: number): boolean {
    return this.decideAgain(this.parts(entry, client), atMs);
  }

  parts(entry: LogEntry, client: Client | undefined): readonly HeldPart[] {
    const { limits, select } = this.#candidate;
    const parts: HeldPart[] = [];
    for (const { place, mode } of select?.(entry) ?? this.#all) {
      const { key, cost } = limits[place] as CandidateLimit;
      const isOfClients = key.text === this.#clients.text;
      const holder = isOfClients ? client : this.#placeOf(place).table.of(entry);
      if (holder === undefined) {
        if (!isOfClients) this.withoutKey[place] = (this.withoutKey[place] ?? 0) + 1;
        continue;
      }
      parts.push({ place, mode, holder, cost: cost.of(entry) });
    }
    return parts;
  }

  /**
   * Those that enforce are one decision. Limits of a quota that deny are left out, and the others tried again: nothing
   * is taken before it is known that all that is needed allows.
   */
  decideAgain(held: readonly HeldPart[], atMs: number): boolean {
    let left = held;
    while (left.length > 0) {
      const answers = this.#consume(left, atMs);
      if (answers.every(({ isAllowed }) => isAllowed)) {
        this.delayMs = answers.reduce((longest, { delayMs }) => Math.max(longest, delayMs), 0);
        return true;
      }
      const waitMs = waitOf(answers);
      if (waitMs > 0) {
        this.retryAfterMs = waitMs === Infinity ? null : waitMs;
        return false;
      }
      left = answers.filter(({ isAllowed }) => isAllowed).map(({ part }) => part);
    }
    return true;
  }

  /** Consumes of all or, where one denies, of none. */
  #consume(held: readonly HeldPart[], atMs: number): readonly PartOutcome[] {
    return this.#areShort ? this.#consumeShort(held, atMs) : this.#consumeWhole(held, atMs);
  }

  #consumeShort(held: readonly HeldPart[], atMs: number): readonly PartOutcome[] {
    const after = this.#after;
    after.length = 0;
    const outcomes = held.map((part): PartOutcome => {
      const { policies, packed } = this.#placeOf(part.place);
      const outcome = { part, isAllowed: true, waitMs: 0, delayMs: 0 };
      for (let j = 0; j < policies.length; j++) {
        const { algorithm, policy } = policies[j] as NamedPolicy;
        const found = (packed[j] as PackedStates).read(part.holder.id);
        const { state, verdict } = algorithm.kernel(policy, found, part.cost, atMs);
        after.push(state);
        addVerdict(outcome, verdict);
      }
      return outcome;
    });
    if (!outcomes.every(({ isAllowed }) => isAllowed)) return outcomes;
    let at = 0;
    for (const { place, holder } of held) {
      for (const states of this.#placeOf(place).packed) states.write(holder.id, after[at++]);
    }
    return outcomes;
  }

  #consumeWhole(held: readonly HeldPart[], atMs: number): readonly PartOutcome[] {
    const { limits } = this.#candidate;
    const keys: KeyState[] = [];
    const parts: Part[] = [];
    for (const { place, holder, cost } of held) {
      const { limit } = limits[place] as CandidateLimit;
      keys.push((this.#placeOf(place).whole as WholeStates).of(holder.id));
      parts.push({ limit, subject: holder.key, cost });
    }
    const { answer } = evaluate({ op: 'consume', parts }, keys, atMs);
    this.blocked = answer.parts.some(({ blocked }) => blocked);
    return answer.parts.map(({ blocked, policies }, i) => {
      const outcome = { part: held[i] as HeldPart, isAllowed: !blocked, waitMs: 0, delayMs: 0 };
      for (const policy of policies) addVerdict(outcome, policy);
      return outcome;
    });
  }

  #placeOf(place: number): LimitStates {
    let found = this.#places[place];
    if (found === undefined) {
      const { key, limit } = this.#candidate.limits[place] as CandidateLimit;
      const { policies } = limit;
      const table = this.#tableOf(key);
      found = this.#areShort
        ? { table, policies, packed: policies.map((named) => table.keep(new PackedStates(named))), whole: undefined }
        : { table, policies, packed: [], whole: table.keep(new WholeStates(limit)) };
      this.#places[place] = found;
    }
    return found;
  }
}

/** The states of one limit: those of its policies, or those of its keys. */
interface LimitStates {
  readonly table: KeyTable;
  readonly policies: readonly NamedPolicy[];
  readonly packed: readonly PackedStates[];
  readonly whole: WholeStates | undefined;
}

/** The answer of one limit; `waitMs` is Infinity where it never allows. */
interface PartOutcome {
  readonly part: HeldPart;
  isAllowed: boolean;
  waitMs: number;
  delayMs: number;
}

/** Adds what a policy of the limit says: all of them must allow. */
function addVerdict(
  outcome: PartOutcome,
  { allowed, retryAfterMs, delayMs }: Pick<PolicyDecision, 'allowed' | 'retryAfterMs' | 'delayMs'>,
): void {
  outcome.isAllowed &&= allowed;
  outcome.waitMs = Math.max(outcome.waitMs, retryAfterMs ?? Infinity);
  outcome.delayMs = Math.max(outcome.delayMs, delayMs);
}

/** How long a request is denied: until all that enforce allow, and one of a quota; 0 where it is not denied. */
function waitOf(answers: readonly PartOutcome[]): number {
  let [enforcedMs, quotaMs] = [0, 0];
  for (const { part, isAllowed, waitMs } of answers) {
    if (part.mode === 'enforced' && !isAllowed) enforcedMs = Math.max(enforcedMs, waitMs);
  }
  const quota = answers.filter(({ part }) => part.mode === 'quota');
  if (quota.length > 0) quotaMs = Math.min(...quota.map(({ isAllowed, waitMs }) => (isAllowed ? 0 : waitMs)));
  return Math.max(enforcedMs, quotaMs);
}
