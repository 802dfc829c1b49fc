import type { Decision } from '../decision.ts';
import { SluiceError } from '../errors.ts';
import type { Ask } from '../stores/store.ts';
import type { LimiterHost } from './host.ts';
import type { Want } from './limits.ts';
import type { WaitSettings } from './wait-options.ts';
import { WaitQueue } from './wait-queue.ts';

/** The requests of one limiter that wait: a queue per key, or per combination of keys. */
export class WaitQueues {
  readonly #host: LimiterHost;
  readonly #queues = new Map<string, WaitQueue>();
  /** The queues that a subject is a part of. */
  readonly #bySubject = new Map<string, Set<WaitQueue>>();

  constructor(host: LimiterHost) {
    this.#host = host;
  }

  /**
   * Resolves with the decision that allows the request, in the order of the calls for the same key.
   *
   * @param makeWants - Called for each attempt: a late release must not free the slot of the next one.
   */
  wait(makeWants: () => readonly Want[], settings: WaitSettings): Promise<Decision> {
    const wants = makeWants();
    this.#host.checkOpen();
    const { signal } = settings;
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason, whatever it is
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    const id = wants.map(({ limit, subject }) => `${limit.name}{${subject}}`).join(''); // no subject has braces
    const queue = this.#queues.get(id) ?? this.#open(id, wants);
    return queue.add(makeWants, settings);
  }

  /** Asks again for the requests that wait for one of these keys, because units may have come back. */
  changed(asks: readonly Ask[]): void {
    if (this.#queues.size === 0) return;
    for (const { key } of asks) {
      // The keys of a subject begin with it, in braces.
      for (const queue of this.#bySubject.get(key.slice(1, key.indexOf('}'))) ?? []) queue.changed();
    }
  }

  /** Asks again for all requests. */
  changedAll(): void {
    for (const queue of this.#queues.values()) queue.changed();
  }

  /**
   * Rejects all requests with `SLUICE_LIMITER_CLOSED`, and gives back what they had.
   *
   * @returns Resolves when what the store is being asked for was given back; undefined if it is not being asked.
   */
  close(): Promise<unknown> | undefined {
    const answers = [...this.#queues.values()].flatMap((queue) => {
      const message = `the limiter ${this.#host.name} was closed during the wait`;
      return queue.close(new SluiceError('SLUICE_LIMITER_CLOSED', message)) ?? [];
    });
    this.#queues.clear();
    return answers.length === 0 ? undefined : Promise.all(answers);
  }

  #open(id: string, wants: readonly Want[]): WaitQueue {
    const queue = new WaitQueue(this.#host, () => {
      this.#queues.delete(id);
      for (const { subject } of wants) {
        const queues = this.#bySubject.get(subject);
        queues?.delete(queue);
        if (queues?.size === 0) this.#bySubject.delete(subject);
      }
    });
    this.#queues.set(id, queue);
    for (const { subject } of wants) {
      this.#bySubject.set(subject, (this.#bySubject.get(subject) ?? new Set()).add(queue));
    }
    return queue;
  }
}
