import { StoreError } from '@sluice/old-core';
import { type LocalTime, shown } from '@sluice/old-core/spi';
import { inUseError } from '../membership/joining.ts';
import type { Confirmation, Membership } from '../membership/membership.ts';

/**
 * Asks a registry for the present members: the weight of each by its id, whole numbers from 1 to 1 000 000. Rejects if
 * the registry does not say.
 *
 * @param signal - Aborted when the answer would be too late, or the store is closed.
 */
export type AskMembers = (
  signal: AbortSignal,
) => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;

export interface PollSettings {
  readonly id: string;
  /** How long an answer counts, from when it was asked for. */
  readonly ttlMs: number;
  /** From the beginning of a request to that of the next one. */
  readonly everyMs: number;
}

/** The longest pause while a registry is away. */
const LONGEST_PAUSE_MS = 10_000;
/** Pauses vary by this part of them, so that instances that started together do not ask together. */
const JITTER = 0.1;

/**
 * A membership by asking again and again, one request at a time. A request that takes longer than half of `ttlMs` is
 * abandoned, so that another one can be answered in time. While no answer counts, pauses double up to ten seconds.
 */
export class Poller implements Membership {
  readonly id: string;
  readonly ttlMs: number;
  readonly #settings: PollSettings;
  readonly #ask: AskMembers;
  readonly #time: LocalTime;
  #isJoined = false;

  constructor(settings: PollSettings, ask: AskMembers, time: LocalTime) {
    this.id = settings.id;
    this.ttlMs = settings.ttlMs;
    this.#settings = settings;
    this.#ask = ask;
    this.#time = time;
  }

  /** @throws SluiceError `SLUICE_OPTION_INVALID` when a store has already joined. */
  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => void {
    if (this.#isJoined) throw inUseError();
    this.#isJoined = true;
    const time = this.#time;
    const leaving = new AbortController();
    let cancel: () => void = () => undefined;
    let answeredAtMs = time.monotonicMs();
    let pauseMs = 0;

    const poll = async (): Promise<void> => {
      const [askedAtMs, askedAtDateMs] = [time.monotonicMs(), time.dateMs()];
      try {
        const members = await this.#answer(leaving.signal);
        if (leaving.signal.aborted) return;
        confirmed({ members, askedAtMs, askedAtDateMs });
        answeredAtMs = askedAtMs;
      } catch (error) {
        if (leaving.signal.aborted) return;
        failed(error);
      }
      pauseMs = this.#pauseMs(pauseMs, time.monotonicMs() - answeredAtMs);
      const leftMs = varied(pauseMs) - (time.monotonicMs() - askedAtMs);
      cancel = time.after(Math.max(leftMs, 1), () => void poll());
    };
    void poll();
    return () => {
      cancel();
      leaving.abort();
      this.#isJoined = false;
    };
  }

  #pauseMs(beforeMs: number, sinceAnswerMs: number): number {
    const { everyMs, ttlMs } = this.#settings;
    return sinceAnswerMs > ttlMs ? Math.min(2 * beforeMs, Math.max(everyMs, LONGEST_PAUSE_MS)) : everyMs;
  }

  /** @throws (rejects) StoreError for an answer that is late, or that lists no members. */
  async #answer(leaving: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const asking = new AbortController();
    const limitMs = this.ttlMs / 2;
    const end = (): void => {
      asking.abort(new StoreError('SLUICE_STORE_TIMEOUT', `the registry did not answer within ${String(limitMs)} ms`));
    };
    const cancel = this.#time.after(limitMs, end);
    leaving.addEventListener('abort', end);
    try {
      return checkAnswer(await Promise.race([this.#ask(asking.signal), rejectedBy(asking.signal)]));
    } finally {
      cancel();
      leaving.removeEventListener('abort', end);
    }
  }
}

/** Rejects with the reason when the signal is aborted. */
async function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}

/** A registry that lists no members has lost them: the last answer counts on for its time. */
function checkAnswer(members: unknown): Readonly<Record<string, number>> {
  if (typeof members === 'object' && members !== null && !Array.isArray(members)) {
    if (Object.keys(members).length > 0) return members as Readonly<Record<string, number>>;
    throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the registry lists no members');
  }
  const expected = 'an object with the weight of each member by its id';
  throw new StoreError('SLUICE_STORE_REPLY_INVALID', `expected ${expected} of the registry, got ${shown(members)}`);
}

function varied(ms: number): number {
  return ms * (1 + JITTER * (2 * Math.random() - 1));
}
