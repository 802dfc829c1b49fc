import { getMessage } from '../../errors.ts';
import type { Ask, Op } from '../store.ts';
import { Call, type Caller } from './call.ts';
import { hashTag } from './cluster.ts';
import type { ScriptRunner } from './run-script.ts';

/**
 * Gathers the requests of one turn of the event loop in one call. No request waits for others: the first one leaves as
 * soon as the current task ends; while calls are in flight, requests leave at the end of the turn.
 */
export class Batching {
  readonly #scripts: ScriptRunner;
  readonly #prefix: string;
  readonly #isCluster: boolean;
  /** Whether scripts may write the timeline, which is in another slot of a cluster, and needs a permission of its own. */
  #tellsEvents: boolean;
  /** For each tag, the last call that still takes requests. */
  #byTag = new Map<string, Call>();
  #calls: Call[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(scripts: ScriptRunner, prefix: string, isCluster: boolean) {
    this.#scripts = scripts;
    this.#prefix = prefix;
    this.#isCluster = isCluster;
    this.#tellsEvents = !isCluster;
  }

  add(op: Op, asks: readonly Ask[], caller: Caller): void {
    // In a cluster, keys of one hash tag can be called together.
    const tag = this.#isCluster ? hashTag((asks[0] as Ask).key) : '';
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

  /** Sends all waiting requests. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    const calls = this.#calls;
    this.#calls = [];
    this.#byTag = new Map(); // one that is cleared would keep all calls in a chain until a full collection
    for (const call of calls) this.#send(call);
  };

  #send(call: Call): void {
    this.#inFlight++;
    const tellsEvents = this.#tellsEvents;
    const { script, keys, args } = call.write(this.#prefix, tellsEvents);
    this.#scripts.run(script, keys, args).then(
      (reply) => {
        this.#inFlight--; // before the callers ask for more
        call.answer(reply);
      },
      (error: unknown) => {
        this.#inFlight--;
        // Rejected before it ran, perhaps only because of the timeline. An error inside of the script names the script.
        if (tellsEvents && args.length > 2 && /\b(NOPERM|CROSSSLOT)\b(?!.*\bscript\b)/s.test(getMessage(error))) {
          this.#tellsEvents = false;
          this.#send(call);
        } else call.reject(error);
      },
    );
  }
}
