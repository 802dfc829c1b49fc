import type { Refusals } from '../escalation.ts';
import type { KeyState } from '../evaluate.ts';
import type { Limit } from '../store.ts';
import { NONE } from './slots.ts';

/**
 * Where an entry is kept: not yet, among the keys that may be evicted, among those being refused, or in a bucket that
 * several keys share.
 */
export type Place = 'nowhere' | 'keys' | 'refused' | 'overflow';

/** What is kept under one key, where two numbers do not say it. */
export class Entry implements KeyState {
  readonly subject: string;
  readonly scope: string;
  readonly shared: boolean;
  place: Place = 'nowhere';
  slot: number = NONE;
  blockedUntilMs = 0;
  states: readonly unknown[];
  version = 0;
  refusals: Refusals | undefined = undefined;
  touched = false;
  /** From then on it is as if never used. */
  resetAtMs = 0;
  /** Until then the last cost that was refused stays refused, as far as is known. */
  refusedUntilMs = 0;
  /** Until then slots are held: who forgets them gives them to others. */
  heldUntilMs = 0;
  /** Its place in the heap of those being refused, and the time it has there. */
  at: number = NONE;
  untilMs = 0;
  older: Entry | undefined = undefined;
  newer: Entry | undefined = undefined;

  constructor(subject: string, shared: boolean, scope: string, states: readonly unknown[]) {
    this.subject = subject;
    this.scope = scope;
    this.shared = shared;
    this.states = states;
  }

  static of(subject: string, shared: boolean, { scope, policies }: Limit): Entry {
    return new Entry(
      subject,
      shared,
      scope,
      policies.map(() => undefined),
    );
  }

  /** When the reasons end for which it may not be evicted, as far as is known. */
  get pinnedUntilMs(): number {
    return Math.max(this.refusedUntilMs, this.blockedUntilMs, this.heldUntilMs);
  }

  /** Whether nothing is known but the one state. */
  get isState(): boolean {
    return (
      this.place === 'keys' &&
      this.blockedUntilMs === 0 &&
      this.refusals === undefined &&
      this.version === 0 &&
      this.states.length === 1
    );
  }
}
