import type { NamedPolicy } from '@sluice/old-core';
import type { CandidateLimit } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { KeyTable } from '../clients/key-table.ts';
import type { Lane, TableOf } from './lane.ts';
import { PackedStates } from './packed-states.ts';

/** The states of one limit: those of its policies. */
interface LimitStates {
  readonly isOfClients: boolean;
  readonly table: KeyTable;
  readonly policies: readonly NamedPolicy[];
  readonly states: readonly PackedStates[];
}

/** Any limits, decided together: nothing is taken before it is known that all of them allow. */
export class GeneralLane implements Lane {
  readonly withoutKey: number[] = [];
  delayMs = 0;
  readonly #limits: readonly LimitStates[];

  constructor(limits: readonly CandidateLimit[], clients: KeySpec, tableOf: TableOf) {
    this.#limits = limits.map(({ key, policies }) => {
      const table = tableOf(key);
      const states = policies.map((named) => table.keep(new PackedStates(named)));
      return { isOfClients: key.text === clients.text, table, policies, states };
    });
  }

  decide(entry: LogEntry, client: Client | undefined): boolean {
    const taken: { readonly states: PackedStates; readonly id: number; readonly state: unknown }[] = [];
    let [isAllowed, delayMs] = [true, 0];
    for (const [place, { isOfClients, table, policies, states: kept }] of this.#limits.entries()) {
      const holder = isOfClients ? client : table.of(entry);
      if (holder === undefined) {
        if (!isOfClients) this.withoutKey[place] = (this.withoutKey[place] ?? 0) + 1;
        continue;
      }
      for (const [i, { algorithm, policy }] of policies.entries()) {
        const states = kept[i] as PackedStates;
        const { state, verdict } = algorithm.kernel(policy, states.read(holder.id), 1, entry.atMs);
        isAllowed &&= verdict.allowed;
        delayMs = Math.max(delayMs, verdict.delayMs);
        taken.push({ states, id: holder.id, state });
      }
    }
    if (isAllowed) for (const { states, id, state } of taken) states.write(id, state);
    this.delayMs = isAllowed ? delayMs : 0;
    return isAllowed;
  }
}
