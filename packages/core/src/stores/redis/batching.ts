import type { Answer, Ask, Op } from '../store.ts';
import { Requests, type Request } from './requests.ts';

/** Sends requests in one call, and answers or rejects their callers. Settles when the server has replied. */
export type Send = (requests: readonly Request[]) => Promise<void>;

/**
 * Gathers what one turn of the event loop asks for in one call. No request waits for others: the first one leaves as soon
 * as the current task ends; while calls are in flight, requests leave at the end of the turn.
 */
export class Batching {
  readonly #send: Send;
  /** In a cluster, what must be called together is one batch: the hash tag. */
  readonly #tagOf: ((key: string) => string) | undefined;
  #calls: Requests[] = [];
  #last = new Map<string, Requests>();
  #inFlight = 0;
  #isScheduled = false;

  constructor(send: Send, tagOf: ((key: string) => string) | undefined) {
    this.#send = send;
    this.#tagOf = tagOf;
  }

  add(op: Op, asks: readonly Ask[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const caller = { resolve, reject };
      const tag = this.#tagOf?.(asks[0]?.key ?? '') ?? '';
      let call = this.#last.get(tag);
      if (call?.add(op, asks, caller) !== true) {
        call = new Requests();
        call.add(op, asks, caller);
        this.#calls.push(call);
        this.#last.set(tag, call);
      }
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      if (this.#inFlight === 0) process.nextTick(this.flush);
      else setImmediate(this.flush);
    });
  }

  /** Sends everything that waits. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const calls = this.#calls;
    this.#calls = [];
    this.#last.clear();
    this.#inFlight += calls.length;
    for (const { list } of calls) {
      void this.#send(list).finally(() => this.#inFlight--);
    }
  };
}
