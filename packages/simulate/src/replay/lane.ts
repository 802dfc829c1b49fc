import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { KeyTable } from '../clients/key-table.ts';

/** The pass of a candidate over the log, with states of its own. */
export interface Lane {
  /** By the places of limits with a key of their own: the requests without it, which they did not limit. */
  readonly withoutKey: readonly number[];
  /** How long the last request that was allowed is delayed. */
  readonly delayMs: number;
  /** Whether the request was allowed. One that no limit concerns is. */
  decide(entry: LogEntry, client: Client | undefined): boolean;
}

/** The table of the keys of one kind, which all candidates share. */
export type TableOf = (spec: KeySpec) => KeyTable;
