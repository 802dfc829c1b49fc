import type { DenialCount } from '../../engine/denial-count.ts';
import type { Limit, KeyState } from '../../engine/store.ts';
import type { PinnedGroup } from './pinned-group.ts';
import { NONE } from './records.ts';

/** The contents of one key, when two numbers cannot hold them. */
export class Entry implements KeyState {
  subject: string;
  readonly keySuffix: string;
  /** Its record; {@link NONE} while it is not in the store. */
  record: number = NONE;
  /** The keys among which it is pinned, which must not be evicted; undefined in the order of use. */
  group: PinnedGroup<Entry> | undefined = undefined;
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
  /** The end of a block by `block`. */
  blockedByHandUntilMs = 0;
  /** Its index in the heap of pinned keys, and the instant by which the heap orders it. */
  heapIndex: number = NONE;
  untilMs = 0;
  older: Entry | undefined = undefined;
  newer: Entry | undefined = undefined;

  constructor(subject: string, keySuffix: string, states: readonly unknown[]) {
    this.subject = subject;
    this.keySuffix = keySuffix;
    this.states = states;
  }

  static of(subject: string, { keySuffix, policies }: Limit): Entry {
    return new Entry(
      subject,
      keySuffix,
      policies.map(() => undefined),
    );
  }

  /** The instant until which it must not be forgotten, as far as is known. */
  get pinnedUntilMs(): number {
    return Math.max(this.deniedUntilMs, this.blockedUntilMs, this.heldUntilMs);
  }

  /** Whether it is blocked by `block`, and not by its denials. */
  get isBlockedByHand(): boolean {
    return this.blockedUntilMs > 0 && this.blockedUntilMs === this.blockedByHandUntilMs;
  }

  /** Whether the entry holds one state and nothing else. */
  get isState(): boolean {
    return (
      this.record !== NONE &&
      this.group === undefined &&
      this.blockedUntilMs === 0 &&
      this.denials === undefined &&
      this.version === 0 &&
      this.states.length === 1
    );
  }
}
