import type { Answer, Ask, Op } from '../store.ts';
import { Requests, type Request } from './requests.ts';

/** Sends requests in one call, and answers or rejects their callers. Calls back when the server has replied. */
export type Send = (requests: readonly Request[], ended: () => void) => void;

/**
 * Gathers what one turn of the event loop asks for in one call. No request waits for others: the first one leaves as soon
 * as the current task ends; while calls are in flight, requests leave at the end of the turn.
 */
export class Batching {
  readonly #send: Send;
  /** In a cluster, what can be called together is one batch: the hash tag. */
  readonly #tagOf: ((key: string) => string) | undefined;
  #calls: Requests[] = [];
  #byTag: Map<string, Requests> | undefined;
  #inFlight = 0;
  #isScheduled = false;

  constructor(send: Send, tagOf: ((key: string) => string) | undefined) {
    this.#send = send;
    this.#tagOf = tagOf;
  }

  add(op: Op, asks: readonly Ask[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const caller = { resolve, reject };
      const tag = this.#tagOf?.((asks[0] as Ask).key);
      const last = tag === undefined ? this.#calls[this.#calls.length - 1] : this.#byTag?.get(tag);
      if (last?.add(op, asks, caller) !== true) this.#open(tag).add(op, asks, caller);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      if (this.#inFlight === 0) process.nextTick(this.flush);
      else setImmediate(this.flush);
    });
  }

  #open(tag: string | undefined): Requests {
    const call = new Requests();
    this.#calls.push(call);
    if (tag !== undefined) (this.#byTag ??= new Map<string, Requests>()).set(tag, call);
    return call;
  }

  /** Sends everything that waits. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const calls = this.#calls;
    this.#calls = [];
    this.#byTag = undefined; // a map that is cleared would keep all calls in a chain until a full collection
    this.#inFlight += calls.length;
    for (const { list } of calls) this.#send(list, this.#ended);
  };

  readonly #ended = (): void => {
    this.#inFlight--;
  };
}
