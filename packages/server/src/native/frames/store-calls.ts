import type { Store, StoreAnswers, StoreCall, StoreRequest } from '@sluice/old-core';
import {
  MOST_BYTES,
  MOST_KEYS,
  isPending,
  workOf,
  type BatchAnswer,
  type CoalescedRequests,
} from '@sluice/old-core/spi';
import { servedStore, type ServedStore } from '@sluice/remote/wire';

/** Receives what the store answered, or why it failed. */
export type Answered<Answer> = (answer: Answer | Error) => void;

/** The frames that one call of the store answers. */
interface StoreCallDraft {
  /** When the last client gives up, by `performance.now()`. */
  endMs: number;
  send(store: ServedStore, call: StoreCall): unknown;
  answer(answer: unknown): void;
  fail(error: Error): void;
}

const ofStores = new WeakMap<Store, StoreCalls>();

/**
 * Calls a store for the clients of all connections: what comes in one turn of the event loop goes out in one call,
 * where its keys are different. In the order in which it came, so that a client's own order holds.
 */
export class StoreCalls {
  readonly store: ServedStore;
  #drafts: StoreCallDraft[] = [];
  #isScheduled = false;

  private constructor(store: Store) {
    this.store = servedStore(store);
  }

  static of(store: Store): StoreCalls {
    const known = ofStores.get(store) ?? new StoreCalls(store);
    ofStores.set(store, known);
    return known;
  }

  /** @param endMs - When the client gives up, by `performance.now()`. */
  perform(requests: readonly StoreRequest[], endMs: number, answered: Answered<StoreAnswers>): void {
    const last = this.#drafts.at(-1);
    if (last instanceof RequestsDraft && last.add(requests, endMs, answered)) return;
    const draft = new RequestsDraft();
    draft.add(requests, endMs, answered);
    this.#schedule(draft);
  }

  /** @param keys - All different. */
  performBatch(keys: readonly CoalescedRequests[], endMs: number, answered: Answered<BatchAnswer>): void {
    const last = this.#drafts.at(-1);
    if (last instanceof BatchDraft && last.add(keys, endMs, answered)) return;
    const draft = new BatchDraft();
    draft.add(keys, endMs, answered);
    this.#schedule(draft);
  }

  #schedule(draft: StoreCallDraft): void {
    this.#drafts.push(draft);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const drafts = this.#drafts;
      this.#drafts = [];
      for (const one of drafts) send(this.store, one);
    });
  }
}

function send(store: ServedStore, draft: StoreCallDraft): void {
  const call: StoreCall = { abandoned: false, endMs: draft.endMs };
  let answer: unknown;
  try {
    answer = draft.send(store, call);
  } catch (error) {
    draft.fail(error as Error);
    return;
  }
  if (!isPending(answer)) {
    draft.answer(answer);
    return;
  }
  // No client waits any longer. A later answer is sent all the same: it shows that the store works. Node drops a
  // timer's fraction of a millisecond.
  const timer = setTimeout(abandon, Math.max(Math.ceil(draft.endMs - performance.now()), 1), call).unref();
  answer.then(
    (answered) => {
      clearTimeout(timer);
      draft.answer(answered);
    },
    (error: unknown) => {
      clearTimeout(timer);
      draft.fail(error as Error);
    },
  );
}

function abandon(call: StoreCall): void {
  call.abandoned = true;
  call.onAbandoned?.();
}

/** Requests of several frames, each frame's together and in order. */
class RequestsDraft implements StoreCallDraft {
  endMs = 0;
  readonly #requests: StoreRequest[] = [];
  readonly #frames: { readonly count: number; readonly answered: Answered<StoreAnswers> }[] = [];

  /** Returns false when the draft is full. */
  add(requests: readonly StoreRequest[], endMs: number, answered: Answered<StoreAnswers>): boolean {
    if (this.#requests.length > 0 && this.#requests.length + requests.length > MOST_KEYS) return false;
    this.endMs = Math.max(this.endMs, endMs);
    this.#requests.push(...requests);
    this.#frames.push({ count: requests.length, answered });
    return true;
  }

  send(store: ServedStore, call: StoreCall): unknown {
    return store.perform(this.#requests, call);
  }

  answer(answers: StoreAnswers): void {
    let from = 0;
    for (const { count, answered } of this.#frames) {
      answered(answers.slice(from, from + count));
      from += count;
    }
  }

  fail(error: Error): void {
    for (const { answered } of this.#frames) answered(error);
  }
}

/** Keys of several frames, all different. */
class BatchDraft implements StoreCallDraft {
  endMs = 0;
  readonly #keys: CoalescedRequests[] = [];
  readonly #frames: { readonly count: number; readonly answered: Answered<BatchAnswer> }[] = [];
  /** Subjects by the end of their keys: limits with other numbers share it. */
  readonly #known = new Map<string, Set<string>>();
  #work = 0;
  #bytes = 0;

  /** Returns false when the draft is full, or has one of these keys. */
  add(keys: readonly CoalescedRequests[], endMs: number, answered: Answered<BatchAnswer>): boolean {
    const work = keys.reduce((sum, { limit, runs }) => sum + workOf(limit) * Math.max((runs?.length ?? 0) / 2, 1), 0);
    const bytes = keys.reduce((sum, { subject }) => sum + subject.length, 0);
    const isFull = this.#work + work > MOST_KEYS || this.#bytes + bytes > MOST_BYTES;
    if (this.#keys.length > 0 && (isFull || keys.some((key) => this.#has(key)))) return false;
    this.endMs = Math.max(this.endMs, endMs);
    this.#work += work;
    this.#bytes += bytes;
    for (const key of keys) this.#add(key);
    this.#frames.push({ count: keys.length, answered });
    return true;
  }

  #has({ limit, subject }: CoalescedRequests): boolean {
    return this.#known.get(limit.keySuffix)?.has(subject) === true;
  }

  #add(key: CoalescedRequests): void {
    const { limit, subject } = key;
    const subjects = this.#known.get(limit.keySuffix) ?? new Set();
    this.#known.set(limit.keySuffix, subjects.add(subject));
    this.#keys.push(key);
  }

  send(store: ServedStore, call: StoreCall): unknown {
    return store.performBatch?.(this.#keys, call);
  }

  answer({ atMs, instants, keys }: BatchAnswer): void {
    let from = 0;
    for (const { count, answered } of this.#frames) {
      const to = from + count;
      const own = { atMs, keys: keys.slice(from, to) };
      answered(instants === undefined ? own : { ...own, instants: instants.slice(from, to) });
      from = to;
    }
  }

  fail(error: Error): void {
    for (const { answered } of this.#frames) answered(error);
  }
}
