import type { LimitMode } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { LogEntry } from '../formats/log-entry.ts';
import type { Client } from '../clients/client.ts';
import type { Holder, KeyTable } from '../clients/key-table.ts';

/**
 * A limit that a request is held to, with the key and the cost that were found: what a denied request comes back with.
 */
export interface HeldPart {
  readonly place: number;
  readonly mode: LimitMode;
  readonly holder: Holder;
  readonly cost: number;
}

/**
 * One pass of a candidate over the log, with states of its own. After `decide` and `decideAgain` the fields tell more
 * of the decision.
 */
export interface Lane {
  /** Its place in `Client.denied`. */
  readonly id: number;
  /** Whether requests of one client concern no other, so that each may be spread by itself. */
  readonly isPerClient: boolean;
  /** By the places of limits with a key of their own: the requests without it, which they did not limit. */
  readonly withoutKey: readonly number[];
  retryAfterMs: number | null;
  delayMs: number;
  blocked: boolean;
  /** Whether the request was allowed. One that no limit concerns is. */
  decide(entry: LogEntry, client: Client | undefined, atMs: number): boolean;
  parts(entry: LogEntry, client: Client | undefined): readonly HeldPart[];
  decideAgain(parts: readonly HeldPart[], atMs: number): boolean;
}

/** The table of the keys of one kind, which all candidates share. */
export type TableOf = (spec: KeySpec) => KeyTable;
