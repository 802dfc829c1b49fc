import type { NamedPolicy } from '@sluice/core';
import type { CandidateLimit } from '../candidates/candidate.ts';
import type { CostSpec } from '../keys/cost-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { Holder, KeyTable } from '../clients/key-table.ts';
import type { HeldPart, Lane } from './lane.ts';
import { PackedStates } from './packed-states.ts';

/**
 * One policy by the key of the clients, which nothing but its state decides: the kernel alone, as in `consumeState`.
 */
export class ShortLane implements Lane {
  readonly id: number;
  readonly isPerClient = true;
  readonly withoutKey: readonly number[] = [];
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
    return client === undefined ? [] : [{ place: 0, mode: 'enforced', holder: client, cost: this.#cost.of(entry) }];
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
