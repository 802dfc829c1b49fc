import { localClocks, type LocalClocks } from './local-clocks.ts';
import { isPending, type StoreRequest } from './store.ts';

/** Subjects are told apart by so many places: two that share one only lose what could have been kept. */
const PLACES = 1024;

/**
 * Where this process itself may have made more available than there was: resets, refunds, blocks that end. What was learnt from a call that was sent before such a change was answered is not to be kept, for
 * it may have been decided before it.
 */
export class Raises {
  readonly #clocks: LocalClocks;
  /** How many are on their way, and when the last one was answered. */
  readonly #pending = new Uint32Array(PLACES);
  readonly #answeredMs = new Float64Array(PLACES).fill(-Infinity);

  constructor(clocks: LocalClocks = localClocks) {
    this.#clocks = clocks;
  }

  /** Sends requests, and knows of those among them that may raise something. */
  around<T>(requests: readonly StoreRequest[], send: () => T | Promise<T>): T | Promise<T> {
    const subjects = changedBy(requests);
    if (subjects.length === 0) return send();
    for (const subject of subjects) this.sending(subject);
    const end = (): void => {
      for (const subject of subjects) this.answered(subject);
    };
    let sent: T | Promise<T>;
    try {
      sent = send();
    } catch (error) {
      end();
      throw error;
    }
    if (!isPending(sent)) {
      end();
      return sent;
    }
    return sent.finally(end);
  }

  /** A change of this subject is about to be sent. Every call of this is followed by one of {@link answered}. */
  sending(subject: string): void {
    (this.#pending[placeOf(subject)] as number)++;
  }

  /** It was answered, or failed: before whoever sent it hears of that. */
  answered(subject: string): void {
    const place = placeOf(subject);
    (this.#pending[place] as number)--;
    this.#answeredMs[place] = this.#clocks.monotonicMs();
  }

  /** Whether what a call that was sent at that instant says of a subject can be relied on. */
  isSince(sentMs: number, place: number): boolean {
    return this.#pending[place] === 0 && (this.#answeredMs[place] as number) < sentMs;
  }
}

const NONE: readonly string[] = [];

function changedBy(requests: readonly StoreRequest[]): readonly string[] {
  if (requests.every(({ op }) => op === 'consume' || op === 'peek')) return NONE;
  return requests.flatMap((request) => ('part' in request ? [request.part.subject] : []));
}

/** FNV-1a. */
export function placeOf(subject: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < subject.length; i++) hash = Math.imul(hash ^ subject.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (PLACES - 1);
}

/** Those of this process: one for all its stores, for two of them may be over the same keys. */
export const raises: Raises = new Raises();
