import type { NamedPolicy } from '@sluice/old-core';
import type { KeySpec } from '../keys/key-spec.ts';

/** One of the limits of a candidate: what is counted by one key. */
export interface CandidateLimit {
  readonly policies: readonly NamedPolicy[];
  readonly key: KeySpec;
}

/** A candidate for a log: limits that are decided together, of which all must allow. */
export interface Candidate {
  /** As a person reads it. */
  readonly text: string;
  readonly limits: readonly CandidateLimit[];
}
