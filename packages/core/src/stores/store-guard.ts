import { SluiceError, StoreError, type StoreFailureKind } from '../errors.ts';
import { breakers } from '../observe/channels.ts';
import { warnOnce } from '../warnings.ts';
import { Breaker, type BreakerOptions, type BreakerState } from './breaker.ts';
import { withinDeadline } from './deadline.ts';
import { probeRequest } from './probe.ts';
import { isPending, type Part, type Store, type StoreAnswers, type StoreCall, type StoreRequest } from './store.ts';

const guards = new WeakMap<Store, StoreGuard>();

/**
 * Asks a store that may be slow, hung or gone: within a deadline, and not at all while it keeps failing. One for all
 * limiters of a store, so that what one of them finds out helps the others. Where parts of a store fail by themselves,
 * each has a breaker of its own.
 */
export class StoreGuard {
  readonly #store: Store;
  readonly #namesOf: () => readonly string[];
  readonly #breakers = new Map<number | undefined, Breaker>();

  private constructor(store: Store, namesOf: () => readonly string[]) {
    this.#store = store;
    this.#namesOf = namesOf;
  }

  /** @param namesOf - The limiters that use the store. */
  static of(store: Store, namesOf: () => readonly string[]): StoreGuard {
    let guard = guards.get(store);
    if (guard === undefined) guards.set(store, (guard = new StoreGuard(store, namesOf)));
    return guard;
  }

  /** The state of its breaker; of several, the one furthest from closed. */
  get state(): BreakerState {
    const states = new Set([...this.#breakers.values()].map(({ state }) => state));
    return states.has('open') ? 'open' : states.has('half-open') ? 'half-open' : 'closed';
  }

  /**
   * Performs requests, all of which concern the part of the store that `subject` lives in.
   *
   * @throws what a store throws at once, and StoreError `SLUICE_BREAKER_OPEN`. Rejects as the store does, or with
   * `SLUICE_STORE_TIMEOUT`.
   */
  perform(
    requests: readonly StoreRequest[],
    subject: string,
    timeoutMs: number,
    call: StoreCall,
  ): StoreAnswers | Promise<StoreAnswers> {
    const breaker = this.#breakerOf(subject, timeoutMs);
    const epoch = breaker.enter();
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#store.perform(requests, call);
    } catch (error) {
      breaker.failed(epoch, error);
      throw error;
    }
    if (!isPending(answers)) {
      breaker.succeeded(epoch);
      return answers;
    }
    return withinDeadline(answers, timeoutMs, call).then(
      (answered) => {
        breaker.succeeded(epoch);
        return answered;
      },
      (error: unknown) => {
        breaker.failed(epoch, error);
        throw error;
      },
    );
  }

  /** @throws StoreError `SLUICE_BREAKER_OPEN` when one of these subjects would not be asked for. */
  checkLet(parts: readonly Part[]): void {
    for (const { subject } of parts) {
      const breaker = this.#breakers.get(this.#store.shardOf?.(subject));
      if (breaker?.lets === false) breaker.enter();
    }
  }

  /** Ends probing: nobody uses the store any more. */
  close(): void {
    for (const breaker of this.#breakers.values()) breaker.reset();
    this.#breakers.clear();
  }

  #breakerOf(subject: string, timeoutMs: number): Breaker {
    const shard = this.#store.shardOf?.(subject);
    let breaker = this.#breakers.get(shard);
    if (breaker === undefined) {
      breaker = this.#breakerFor(shard, subject, timeoutMs);
      this.#breakers.set(shard, breaker);
    }
    return breaker;
  }

  /** @param subject - One of the shard's. */
  #breakerFor(shard: number | undefined, subject: string, timeoutMs: number): Breaker {
    const { breaker } = this.#store;
    const { failures = 5, probeEveryMs = 500 } = breaker === false ? NEVER : (breaker ?? {});
    return new Breaker({
      failures,
      probeEveryMs,
      probe: async () => {
        const call: StoreCall = { abandoned: false };
        const request = probeRequest(shard === undefined ? undefined : subject);
        const [answer] = await withinDeadline(
          Promise.resolve(this.#store.perform([request], call)),
          Math.min(timeoutMs, LONGEST_PROBE_MS),
          call,
        );
        if (answer instanceof Error) throw answer;
      },
      onChange: (state, previous, cause) => {
        const message = {
          limiters: this.#namesOf(),
          store: this.#store.source,
          shard,
          state,
          previous,
          kind: kindOf(cause),
        };
        breakers.publish(message);
        if (state === 'open' && previous === 'closed') warnAway(message.limiters, cause);
      },
    });
  }
}

const NEVER: BreakerOptions = { failures: Infinity };
const LONGEST_PROBE_MS = 1000;

export function kindOf(error: unknown): StoreFailureKind {
  return error instanceof StoreError ? error.kind : 'other';
}

function warnAway(limiters: readonly string[], cause: unknown): void {
  const names = limiters.join(', ');
  const why = cause instanceof SluiceError || cause instanceof Error ? cause.message : String(cause);
  warnOnce(
    'SLUICE_STORE_AWAY',
    `The store of ${names} keeps failing (${kindOf(cause)}): ${why}. Until it answers again, onStoreError decides.`,
    names,
  );
}
