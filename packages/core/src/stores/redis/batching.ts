import type { Ask, Op } from '../store.ts';
import { Call, type Caller } from './call.ts';

/**
 * Gathers what one turn of the event loop asks for in one call. No request waits for others: the first one leaves as soon
 * as the current task ends; while calls are in flight, requests leave at the end of the turn.
 */
export class Batching {
  readonly #run: (call: Call) => Promise<unknown>;
  /** In a cluster, what can be called together is one batch: the hash tag. */
  readonly #tagOf: ((key: string) => string) | undefined;
  /** By tag, the last one that takes requests. */
  #byTag = new Map<string, Call>();
  #calls: Call[] = [];
  #inFlight = 0;
  #isScheduled = false;

  /** @param run - Returns the reply of the script. */
  constructor(run: (call: Call) => Promise<unknown>, tagOf: ((key: string) => string) | undefined) {
    this.#run = run;
    this.#tagOf = tagOf;
  }

  add(op: Op, asks: readonly Ask[], caller: Caller): void {
    const tag = this.#tagOf?.((asks[0] as Ask).key) ?? '';
    if (this.#byTag.get(tag)?.add(op, asks, caller) !== true) {
      const call = new Call();
      call.add(op, asks, caller);
      this.#calls.push(call);
      this.#byTag.set(tag, call);
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#inFlight === 0) process.nextTick(this.flush);
    else setImmediate(this.flush);
  }

  /** Sends everything that waits. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const calls = this.#calls;
    this.#calls = [];
    this.#byTag = new Map(); // one that is cleared would keep all calls in a chain until a full collection
    for (const call of calls) void this.#send(call);
  };

  async #send(call: Call): Promise<void> {
    this.#inFlight++;
    let reply: unknown;
    try {
      reply = await this.#run(call);
    } catch (error) {
      call.reject(error);
      return;
    } finally {
      this.#inFlight--; // before the callers ask for more
    }
    call.answer(reply);
  }
}
