import { asStoreError, kindOf, messageOf, type StoreFailureKind } from '../errors.ts';
import { breakers } from '../channels.ts';
import { warnOnce } from '../warnings.ts';
import { Breaker } from './breaker.ts';
import { bringGuard } from './brought-guard.ts';
import { timeoutError, withinDeadline } from './deadline.ts';
import { probe } from './probe.ts';
import { Shard } from './shard.ts';
import {
  isOneCall,
  isPending,
  partsOf,
  type Nodes,
  type Part,
  type Store,
  type StoreAnswers,
  type StoreCall,
  type StoreRequest,
  type BreakerOptions,
  type BreakerState,
} from '../engine/store.ts';

const NEVER: BreakerOptions = { failures: Infinity };
const LONGEST_PROBE_MS = 1000;
const MOST_NAMED = 5;
/** How long after its nodes a store may answer for several of them. */
const NODES_SLACK_MS = 50;

/** Receives what a request over several shards leaves behind its answer: refunds, and failures that the answer does not show. */
export type BehindAnswer = Pick<Nodes, 'inBackground' | 'reportFailure'>;

const NOTHING_BEHIND: BehindAnswer = { inBackground: () => undefined, reportFailure: () => undefined };

const guards = /* @__PURE__ */ new WeakMap<Store, StoreGuard>();

/** The guard of a store: limiters have it where the program names this function, as the stores of this package do. */
export const guardOf: (store: Store) => StoreGuard = /* @__PURE__ */ bringGuard((store) => {
  let guard = guards.get(store);
  if (guard === undefined) guards.set(store, (guard = new StoreGuard(store)));
  return guard;
});

/** Ends the probing of a store that the application closes itself. */
export function closeGuardOf(store: Store): void {
  guards.get(store)?.close();
}

/**
 * Calls a store that may be slow, hung or gone: within a deadline, and not while its breaker is open. All limiters
 * of a store share one guard, and its findings. Each part of a store that fails independently has its own breaker.
 */
export class StoreGuard {
  readonly #store: Store;
  /** The kinds of failures that were warned about. */
  readonly #warned = new Set<StoreFailureKind>();
  readonly #shards = new Map<string | undefined, Shard>();
  /** The limiters that use the store. */
  readonly #limiters = new Set<{ readonly name: string; readonly timeoutMs: number }>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Adds a limiter. The returned function removes it. */
  join(name: string, timeoutMs: number): () => void {
    const limiter = { name, timeoutMs };
    this.#limiters.add(limiter);
    return () => {
      this.#limiters.delete(limiter);
    };
  }

  /** The time after which a late reply counts as a failure of the store. */
  #patienceMs(): number {
    return [...this.#limiters].reduce((longest, { timeoutMs }) => Math.max(longest, timeoutMs), 1);
  }

  /** Whether anything was asked of the store. */
  get isUsed(): boolean {
    return this.#shards.size > 0;
  }

  /** The state of the breaker; with several, the one furthest from closed. */
  get state(): BreakerState {
    this.#forgetMoved();
    const states = new Set([...this.#shards.values()].map(({ breaker }) => breaker.state));
    return states.has('open') ? 'open' : states.has('half-open') ? 'half-open' : 'closed';
  }

  /**
   * Performs requests: in one call, unless their subjects live in several shards.
   *
   * @throws the store's synchronous errors, and StoreError `SLUICE_BREAKER_OPEN`. Rejects as the store does, or
   * with `SLUICE_STORE_TIMEOUT`.
   */
  perform(
    requests: readonly StoreRequest[],
    timeoutMs: number,
    behind: BehindAnswer = NOTHING_BEHIND,
  ): StoreAnswers | Promise<StoreAnswers> {
    if (!isOneCall(this.#store, requests)) return this.#performOnShards(requests, timeoutMs, behind);
    const [first] = requests;
    return this.#perform(requests, first === undefined ? '' : (partsOf(first)[0]?.subject ?? ''), timeoutMs);
  }

  /** Each request by itself. Its result holds even if others fail. */
  #performOnShards(
    requests: readonly StoreRequest[],
    timeoutMs: number,
    behind: BehindAnswer,
  ): StoreAnswers | Promise<StoreAnswers> {
    const [only, ...more] = requests;
    if (only !== undefined && more.length === 0) return this.#performAcross(only, timeoutMs, behind);
    const performOne = async (request: StoreRequest): Promise<StoreAnswers> => {
      try {
        return await this.perform([request], timeoutMs, behind);
      } catch (error) {
        return [asStoreError(error)];
      }
    };
    return Promise.all(requests.map(performOne)).then((answers) => answers.flat());
  }

  /** One request over several shards: the store asks each through this guard. */
  #performAcross(request: StoreRequest, timeoutMs: number, behind: BehindAnswer): StoreAnswers | Promise<StoreAnswers> {
    this.#checkPassing(partsOf(request)); // before other nodes consume what they would have to refund
    const endMs = performance.now() + timeoutMs;
    const ask: Nodes['ask'] = (requests) => {
      const leftMs = Math.ceil(endMs - performance.now());
      if (leftMs <= 0) throw timeoutError(timeoutMs);
      return this.perform(requests, leftMs);
    };
    const refund: Nodes['refund'] = (requests) => this.perform(requests, timeoutMs);
    const call: StoreCall = { abandoned: false, endMs, nodes: { ask, refund, ...behind } };
    const answers = this.#store.perform([request], call);
    return isPending(answers) ? withinDeadline(answers, timeoutMs + NODES_SLACK_MS, call) : answers;
  }

  #perform(
    requests: readonly StoreRequest[],
    subject: string,
    timeoutMs: number,
  ): StoreAnswers | Promise<StoreAnswers> {
    const shard = this.shardOf(subject);
    const generation = shard.breaker.enter();
    const fail = (error: unknown, answers?: Promise<unknown>): never => {
      shard.subject = subject;
      shard.failed(generation, error, timeoutMs, answers);
      throw error;
    };
    const succeed = (answered: StoreAnswers): StoreAnswers => {
      shard.breaker.succeeded(generation);
      return answered;
    };
    const sentMs = performance.now();
    const call: StoreCall = { abandoned: false, sentMs, endMs: sentMs + timeoutMs };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.#store.perform(requests, call);
    } catch (error) {
      return fail(error);
    }
    if (!isPending(answers)) return succeed(answers);
    const pending = answers;
    return withinDeadline(pending, timeoutMs, call).then(succeed, (error: unknown) => fail(error, pending));
  }

  /** @throws StoreError `SLUICE_BREAKER_OPEN` when the breaker of one of these subjects is open. */
  #checkPassing(parts: readonly Part[]): void {
    for (const { subject } of parts) {
      const shard = this.#shards.get(this.#store.shardOf?.(subject));
      if (shard?.breaker.isPassing !== false) continue;
      shard.subject = subject;
      shard.breaker.enter();
    }
  }

  /** Ends probing, because no limiter uses the store any more. */
  close(): void {
    for (const { breaker } of this.#shards.values()) breaker.reset();
    this.#shards.clear();
  }

  /** The shard that a subject lives in. */
  shardOf(subject: string): Shard {
    const name = this.#store.shardOf?.(subject);
    let shard = this.#shards.get(name);
    if (shard === undefined) {
      this.#forgetMoved();
      const made: Shard = new Shard(
        this.#breakerOf(name, () => made),
        subject,
        () => this.#patienceMs(),
      );
      shard = made;
      this.#shards.set(name, shard);
    }
    shard.subject = subject; // one that failed may live elsewhere by now
    return shard;
  }

  /** Drops shards that no longer exist: nodes whose keys have moved. */
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
        const { subject } = shardOf();
        const timeoutMs = Math.min(this.#patienceMs(), LONGEST_PROBE_MS);
        await probe(this.#store, name === undefined ? 'probe' : subject, timeoutMs, false);
      },
      onChange: (state, previous, cause) => {
        const limiters = [...new Set([...this.#limiters].map(({ name }) => name))];
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
  const why = messageOf(cause);
  warnOnce(
    'SLUICE_STORE_AWAY',
    `The store of ${names} keeps failing (${kind}): ${why}. Until it answers again, onStoreError decides.`,
    `${kind} ${names}`,
  );
}
