import { isFault, kindOf, type StoreFailureKind } from '../errors.ts';
import { breakers } from '../observe/channels.ts';
import { warnOnce } from '../warnings.ts';
import { Batching } from './batching/batching.ts';
import { Breaker, type BreakerOptions, type BreakerState } from './breaker.ts';
import { withinDeadline } from './deadline.ts';
import { probe } from './probe.ts';
import { raises } from './raises.ts';
import { performsRuns } from './runs.ts';
import type { Shard } from './shard.ts';
import {
  isPending,
  type DecidingRequest,
  type Part,
  type Store,
  type StoreAnswers,
  type StoreCall,
  type StoreRequest,
} from './store.ts';

const NEVER: BreakerOptions = { failures: Infinity };
const LONGEST_PROBE_MS = 1000;
const MOST_NAMED = 5;

const guards = new WeakMap<Store, StoreGuard>();

/**
 * Asks a store that may be slow, hung or gone: within a deadline, and not at all while it keeps failing. One for all
 * limiters of a store, so that what one of them finds out helps the others. Where parts of a store fail by themselves,
 * each has a breaker of its own.
 */
export class StoreGuard {
  readonly #store: Store;
  readonly #namesOf: () => readonly string[];
  /** The kinds of failures that have been warned about. */
  readonly #warned = new Set<StoreFailureKind>();
  readonly #shards = new Map<string | undefined, Shard>();
  /** Where the store decides many keys in one call: what most decisions go by. */
  readonly batching: Batching | undefined;

  private constructor(store: Store, namesOf: () => readonly string[]) {
    this.#store = store;
    this.#namesOf = namesOf;
    if (performsRuns(store))
      this.batching = new Batching(store, (subject, timeoutMs) => this.#shardOf(subject, timeoutMs));
  }

  /** @param namesOf - The limiters that use the store. */
  static of(store: Store, namesOf: () => readonly string[]): StoreGuard {
    let guard = guards.get(store);
    if (guard === undefined) guards.set(store, (guard = new StoreGuard(store, namesOf)));
    return guard;
  }

  /** Ends the probing of a store that is closed by hand. */
  static closeOf(store: Store): void {
    guards.get(store)?.close();
  }

  /** The state of its breaker; of several, the one furthest from closed. */
  get state(): BreakerState {
    this.#forgetMoved();
    const states = new Set([...this.#shards.values()].map(({ breaker }) => breaker.state));
    return states.has('open') ? 'open' : states.has('half-open') ? 'half-open' : 'closed';
  }

  /**
   * Performs requests, all of which concern the part of the store that the subject of the first one lives in.
   *
   * @throws what a store throws at once, and StoreError `SLUICE_BREAKER_OPEN`. Rejects as the store does, or with
   * `SLUICE_STORE_TIMEOUT`.
   */
  perform(requests: readonly StoreRequest[], timeoutMs: number): StoreAnswers | Promise<StoreAnswers> {
    const subject = subjectOf(requests[0]);
    return raises.around(requests, () => this.#perform(requests, subject, timeoutMs));
  }

  #perform(
    requests: readonly StoreRequest[],
    subject: string,
    timeoutMs: number,
  ): StoreAnswers | Promise<StoreAnswers> {
    const shard = this.#shardOf(subject, timeoutMs);
    const epoch = shard.breaker.enter();
    const fail = (error: unknown): never => {
      shard.subject = subject;
      // What is to be mended passes by no waiting.
      if (isFault(error)) shard.breaker.succeeded(epoch);
      else shard.breaker.failed(epoch, error);
      throw error;
    };
    const succeed = (answered: StoreAnswers): StoreAnswers => {
      shard.breaker.succeeded(epoch);
      return answered;
    };
    this.batching?.flush(); // what was asked for earlier is decided earlier
    const call: StoreCall = { abandoned: false };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#store.perform(requests, call);
    } catch (error) {
      return fail(error);
    }
    return isPending(answers) ? withinDeadline(answers, timeoutMs, call).then(succeed, fail) : succeed(answers);
  }

  /** As {@link perform}, one decision, along with others that are asked for in the same turn of the event loop. */
  ask(request: DecidingRequest, timeoutMs: number): StoreAnswers | Promise<StoreAnswers> {
    if (this.batching !== undefined) return this.batching.ask(request, timeoutMs);
    return this.perform([request], timeoutMs);
  }

  /** @throws StoreError `SLUICE_BREAKER_OPEN` when one of these subjects would not be asked for. */
  checkLet(parts: readonly Part[]): void {
    for (const { subject } of parts) {
      const shard = this.#shards.get(this.#store.shardOf?.(subject));
      if (shard?.breaker.lets !== false) continue;
      shard.subject = subject;
      shard.breaker.enter();
    }
  }

  /** Ends probing: nobody uses the store any more. */
  close(): void {
    this.batching?.flush(); // what left after the end would open the store again
    for (const { breaker } of this.#shards.values()) breaker.reset();
    this.#shards.clear();
  }

  #shardOf(subject: string, timeoutMs: number): Shard {
    const name = this.#store.shardOf?.(subject);
    let shard = this.#shards.get(name);
    if (shard === undefined) {
      this.#forgetMoved();
      const made: Shard = { breaker: this.#breakerOf(name, () => made), subject, timeoutMs };
      shard = made;
      this.#shards.set(name, shard);
    } else if (timeoutMs > shard.timeoutMs) {
      shard.timeoutMs = timeoutMs;
    }
    // What failed may live elsewhere by now: what is asked for is probed, while nothing is let through.
    if (!shard.breaker.lets) shard.subject = subject;
    return shard;
  }

  /** Lets go of parts that are no more: nodes whose keys live elsewhere by now. */
  #forgetMoved(): void {
    for (const [name, { breaker, subject }] of this.#shards) {
      if (this.#store.shardOf?.(subject) === name) continue;
      this.#shards.delete(name);
      breaker.reset();
    }
  }

  #breakerOf(name: string | undefined, shardOf: () => Shard): Breaker {
    const { breaker: options } = this.#store;
    const { failures = 5, probeEveryMs = 500 } = options === false ? NEVER : (options ?? {});
    return new Breaker({
      failures,
      probeEveryMs,
      probe: async () => {
        const { subject, timeoutMs } = shardOf();
        try {
          await probe(
            this.#store,
            name === undefined ? 'probe' : subject,
            Math.min(timeoutMs, LONGEST_PROBE_MS),
            false,
          );
        } catch (error) {
          if (!isFault(error)) throw error; // the next request is to be told of it
        }
      },
      onChange: (state, previous, cause) => {
        const limiters = this.#namesOf();
        const kind = kindOf(cause);
        breakers.publish({ limiters, store: this.#store.source, shard: name, state, previous, kind });
        if (state === 'open' && previous === 'closed' && !this.#warned.has(kind)) {
          this.#warned.add(kind);
          warnAway(limiters, cause);
        }
      },
    });
  }
}

function warnAway(limiters: readonly string[], cause: unknown): void {
  const more = limiters.length - MOST_NAMED;
  const names = `${limiters.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
  const kind = kindOf(cause);
  const why = cause instanceof Error ? cause.message : String(cause);
  warnOnce(
    'SLUICE_STORE_AWAY',
    `The store of ${names} keeps failing (${kind}): ${why}. Until it answers again, onStoreError decides.`,
    `${kind} ${names}`,
  );
}

function subjectOf(request: StoreRequest | undefined): string {
  if (request === undefined) return '';
  return ('parts' in request ? request.parts[0] : request.part)?.subject ?? '';
}
