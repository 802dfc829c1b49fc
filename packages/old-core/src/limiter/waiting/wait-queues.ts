import type { Decision } from '../../engine/decision.ts';
import { SluiceError } from '../../errors.ts';
import type { UnresolvedPart } from '../resolve.ts';
import type { WaitSettings } from './options.ts';
import { WaitQueue, type WaitPort } from './wait-queue.ts';

/** The requests of one limiter that wait: a queue per key, or per combination of keys. */
export class WaitQueues {
  readonly #port: WaitPort;
  readonly #queues = new Map<string, WaitQueue>();
  /** The queues that a subject is a part of. */
  readonly #bySubject = new Map<string, Set<WaitQueue>>();

  constructor(port: WaitPort) {
    this.#port = port;
  }

  /** Resolves with the decision that allows the request, in the order of the calls for the same key. */
  wait(parts: readonly UnresolvedPart[], settings: WaitSettings): Promise<Decision> {
    const { signal } = settings;
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    const id = parts.map(({ limit, subject }) => `${limit.keySuffix} ${subject}`).join(' ');
    const queue = this.#queues.get(id) ?? this.#open(id, parts);
    return queue.add(parts, settings);
  }

  /** Asks again for the requests that wait for units of this subject, because some may have come back. */
  changed(subject: string): void {
    this.#bySubject.get(subject)?.forEach((queue) => {
      queue.changed();
    });
  }

  /** Asks again for all requests. */
  changedAll(): void {
    for (const queue of this.#queues.values()) queue.changed();
  }

  /**
   * Rejects all requests with `SLUICE_LIMITER_CLOSED`, and gives back what they had.
   *
   * @returns Where the store is being asked: resolves when what it allows has been given back.
   */
  close(): Promise<unknown> | undefined {
    const answers = [...this.#queues.values()].flatMap((queue) => {
      const error = new SluiceError(
        'SLUICE_LIMITER_CLOSED',
        `the limiter ${this.#port.name} was closed during the wait`,
      );
      return queue.close(error) ?? [];
    });
    this.#queues.clear(); // later requests are rejected by what they ask
    return answers.length === 0 ? undefined : Promise.all(answers);
  }

  #open(id: string, parts: readonly UnresolvedPart[]): WaitQueue {
    const subjects = parts.map(({ subject }) => subject);
    const queue = new WaitQueue(this.#port, () => {
      this.#queues.delete(id);
      for (const subject of subjects) {
        const queues = this.#bySubject.get(subject);
        queues?.delete(queue);
        if (queues?.size === 0) this.#bySubject.delete(subject);
      }
    });
    this.#queues.set(id, queue);
    for (const subject of subjects) {
      const queues = this.#bySubject.get(subject) ?? new Set();
      this.#bySubject.set(subject, queues.add(queue));
    }
    return queue;
  }
}
