import type { Limit, NamedPolicy } from '@sluice/core';
import type { LogEntry } from '../formats/log-entry.ts';
import type { CostSpec } from '../keys/cost-spec.ts';
import type { KeySpec } from '../keys/key-spec.ts';

/** One of the limits of a candidate: what is counted by one key. */
export interface CandidateLimit {
  readonly limit: Limit;
  readonly key: KeySpec;
  readonly cost: CostSpec;
  /** As a person reads it. */
  readonly text: string;
}

/** A candidate for a log: limits that are decided together, of which all must allow. */
export interface Candidate {
  readonly text: string;
  readonly limits: readonly CandidateLimit[];
  /** The limits that a request is held to, where that is not all of them. */
  readonly select?: (entry: LogEntry) => readonly SelectedLimit[];
}

/**
 * The effect of a limit's denial on its request:
 *
 * - `enforced`: the request is denied.
 * - `quota`: it is denied if all limits of this kind deny; otherwise those that allow are taken.
 * - `taken`: it goes on; the limit is taken if it allows.
 */
export type LimitMode = 'enforced' | 'quota' | 'taken';

/** A limit of a candidate, by its place among them. */
export interface SelectedLimit {
  readonly place: number;
  readonly mode: LimitMode;
}

/** A limit whose policies stay as they are, on states that the simulation holds. */
export function limitOf(policies: readonly NamedPolicy[], escalation?: Limit['escalation']): Limit {
  return { policies, keySuffix: '', ...(escalation === undefined ? {} : { escalation }) };
}
