import type { DenialCount } from '../../engine/denial-count.ts';
import type { Limit, KeyState } from '../../engine/store.ts';
import { NONE } from './records.ts';

/**
 * The list that holds an entry: none yet, the keys in their order of use (which can be evicted), the denied keys, or
 * the overflow buckets that several keys share.
 */
export type EntryList = 'none' | 'lru' | 'denied' | 'overflow';

/** The contents of one key, when two numbers cannot hold them. */
export class Entry implements KeyState {
  subject: string;
  readonly keySuffix: string;
  readonly shared: boolean;
  list: EntryList = 'none';
  record: number = NONE;
  blockedUntilMs = 0;
  states: readonly unknown[];
  version = 0;
  denials: DenialCount | undefined = undefined;
  touched = false;
  /** The instant from which the key is as if never used. */
  resetAtMs = 0;
  /** Until then the last denied cost stays denied, as far as is known. */
  deniedUntilMs = 0;
  /** Until then slots are held: a store that forgets them gives them to other holders. */
  heldUntilMs = 0;
  /** Its index in the heap of denied keys, and the instant by which the heap orders it. */
  heapIndex: number = NONE;
  untilMs = 0;
  older: Entry | undefined = undefined;
  newer: Entry | undefined = undefined;

  constructor(subject: string, shared: boolean, keySuffix: string, states: readonly unknown[]) {
    this.subject = subject;
    this.keySuffix = keySuffix;
    this.shared = shared;
    this.states = states;
  }

  static of(subject: string, shared: boolean, { keySuffix, policies }: Limit): Entry {
    return new Entry(
      subject,
      shared,
      keySuffix,
      policies.map(() => undefined),
    );
  }

  /** The instant until which it must not be evicted, as far as is known. */
  get pinnedUntilMs(): number {
    return Math.max(this.deniedUntilMs, this.blockedUntilMs, this.heldUntilMs);
  }

  /** Whether the entry holds one state and nothing else. */
  get isState(): boolean {
    return (
      this.list === 'lru' &&
      this.blockedUntilMs === 0 &&
      this.denials === undefined &&
      this.version === 0 &&
      this.states.length === 1
    );
  }
}
