import { localClocks, type LocalClocks } from '../../../platform/clock.ts';
import type { StoreRequest } from '../../../engine/store.ts';

/** Hash cells of subjects. Two subjects in one cell only lose entries that could have been kept. */
const CELLS = 1024;

/**
 * Subjects for which this process itself may have made more available: resets, refunds, ends of blocks. Answers to
 * calls sent before such a change was answered must not be cached, because the store may have decided them before
 * it.
 */
export class Invalidations {
  readonly #clocks: LocalClocks;
  /** Per cell the changes in flight, and when the last one was answered. */
  readonly #pending = new Uint32Array(CELLS);
  readonly #answeredMs = new Float64Array(CELLS).fill(-Infinity);

  constructor(clocks: LocalClocks = localClocks) {
    this.#clocks = clocks;
  }

  /** Sends requests, and records which of them may make more available. */
  around<T>(requests: readonly StoreRequest[], send: () => Promise<T>): Promise<T> {
    const subjects = changedBy(requests);
    if (subjects.length === 0) return send();
    for (const subject of subjects) this.sending(subject);
    const end = (): void => {
      for (const subject of subjects) this.answered(subject);
    };
    return send().finally(end);
  }

  /** Called before a change of this subject is sent. Every call is followed by one of {@link answered}. */
  sending(subject: string): void {
    (this.#pending[cellOf(subject)] as number)++;
  }

  /** Called when the change was answered or has failed, before its caller continues. */
  answered(subject: string): void {
    const cell = cellOf(subject);
    (this.#pending[cell] as number)--;
    this.#answeredMs[cell] = this.#clocks.monotonicMs();
  }

  /** Whether no change of this cell was in flight since that instant. */
  isUnchangedSince(sentMs: number, cell: number): boolean {
    return this.#pending[cell] === 0 && (this.#answeredMs[cell] as number) < sentMs;
  }
}

const NONE: readonly string[] = [];

function changedBy(requests: readonly StoreRequest[]): readonly string[] {
  if (requests.every(({ op }) => op === 'consume' || op === 'peek')) return NONE;
  return requests.flatMap((request) => ('part' in request ? [request.part.subject] : []));
}

/** FNV-1a. */
export function cellOf(subject: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < subject.length; i++) hash = Math.imul(hash ^ subject.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (CELLS - 1);
}

/** One for all stores of this process, because two stores may hold the same keys. */
export const invalidations: Invalidations = /* @__PURE__ */ new Invalidations();
