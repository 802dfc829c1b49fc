import type { NamedPolicy } from '@sluice/old-core';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { KeyTable } from '../clients/key-table.ts';
import type { Lane } from './lane.ts';
import { PackedStates } from './packed-states.ts';

/** One policy by the key of the clients: its kernel alone. */
export class ShortLane implements Lane {
  readonly withoutKey: readonly number[] = [];
  delayMs = 0;
  readonly #named: NamedPolicy;
  readonly #states: PackedStates;

  constructor(named: NamedPolicy, table: KeyTable) {
    this.#named = named;
    this.#states = table.keep(new PackedStates(named));
  }

  decide(entry: LogEntry, client: Client | undefined): boolean {
    this.delayMs = 0;
    if (client === undefined) return true;
    const { algorithm, policy } = this.#named;
    const { state, verdict } = algorithm.kernel(policy, this.#states.read(client.id), 1, entry.atMs);
    if (!verdict.allowed) return false;
    this.#states.write(client.id, state);
    this.delayMs = verdict.delayMs;
    return true;
  }
}
