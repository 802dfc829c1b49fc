import cluster from 'node:cluster';
import { combine, unavailable, type Decision } from './decision.ts';
import { PolicyError, SluiceError, StoreError, rangeError, shown, typeError, type SluiceErrorCode } from './errors.ts';
import { keyScope } from './key.ts';
import { claimName, releaseName } from './limiter-names.ts';
import { parseName } from './name.ts';
import type { NamedPolicy } from './policy.ts';
import { localStore, withinDeadline, type OnStoreError } from './stores/fallback.ts';
import { memoryStore } from './stores/memory/memory-store.ts';
import type { Limit, Part, Store, StoreAnswer, StoreAnswers, StoreCall, StoreRequest } from './stores/store.ts';
import { warnOnce } from './warnings.ts';

/** The options of a limiter that say where and how it decides, whatever it decides over. */
export interface LimiterCoreOptions {
  /** Stands in keys and header fields. A letter, then up to 63 letters, digits, `.`, `-` or `_`. Default `default`. */
  name?: string | undefined;
  /** Says that other limiters of this name on this store mean the same budgets. Default false. */
  shared?: boolean | undefined;
  /** Default: a memory store of its own. */
  store?: Store | undefined;
  /**
   * What decides when the store fails or is late. Default `local`: a memory limiter of this process, with the same
   * policies.
   */
  onStoreError?: OnStoreError | undefined;
  /** The longest a decision may wait for the store, in milliseconds. Default 100. */
  timeoutMs?: number | undefined;
}

export const CORE_OPTIONS = ['name', 'shared', 'store', 'onStoreError', 'timeoutMs'] as const;

const ON_STORE_ERROR: readonly OnStoreError[] = ['local', 'allow', 'deny', 'throw'];
const FAULTS: readonly SluiceErrorCode[] = ['SLUICE_TWINS_DISAGREE', 'SLUICE_REDIS_CLIENT_MISSING'];
/** Longer timers overflow to 1 ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

type DecidingRequest = Extract<StoreRequest, { op: 'consume' | 'peek' }>;
type EditingRequest = Exclude<StoreRequest, DecidingRequest>;

/** What a decision took, and where from: needed to give it back. */
interface Receipt {
  readonly store: Store;
  readonly parts: readonly Part[];
  readonly answer: StoreAnswer;
  refunded: boolean;
}

/**
 * What {@link createLimiter} and the adapters stand on: decides over parts in one store, with a deadline, and knows
 * what to do when the store fails.
 */
export class LimiterCore {
  readonly name: string;
  readonly store: Store;
  readonly #shared: boolean;
  readonly #onStoreError: OnStoreError;
  readonly #timeoutMs: number;
  readonly #local: Store | undefined;
  readonly #receipts = new WeakMap<Decision, Receipt>();
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /** @throws PolicyError for a bad option. The name is not claimed before {@link claim}. */
  constructor(options: LimiterCoreOptions) {
    const {
      name = 'default',
      shared = false,
      store = memoryStore(),
      onStoreError = 'local',
      timeoutMs = 100,
    } = options;
    this.name = parseName(name, 'name');
    if (typeof shared !== 'boolean')
      throw new PolicyError('shared', `shared must be true or false, got ${shown(shared)}`, 'SLUICE_OPTION_INVALID');
    if (typeof (store as Partial<Store> | null)?.perform !== 'function') {
      throw new PolicyError(
        'store',
        `store must be memoryStore() or redisStore(client), got ${shown(store)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (!ON_STORE_ERROR.includes(onStoreError)) {
      throw new PolicyError(
        'onStoreError',
        `onStoreError must be "local", "allow", "deny" or "throw", got ${shown(onStoreError)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS) {
      throw new PolicyError(
        'timeoutMs',
        `timeoutMs must be a whole number of milliseconds, at least 1, got ${shown(timeoutMs)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    this.store = store;
    this.#shared = shared;
    this.#onStoreError = onStoreError;
    this.#timeoutMs = timeoutMs;
    this.#local = onStoreError === 'local' && store.source !== 'memory' ? localStore(store) : undefined;
  }

  /** Takes the name on the store: the last step of making a limiter, when all else has been checked. */
  claim(): void {
    claimName(this.store, this.name, this.#shared);
    if (this.store.source === 'memory' && cluster.isWorker) {
      warnOnce(
        'SLUICE_MEMORY_IN_CLUSTER',
        `the limiter ${this.name} counts in the memory of this worker, and every worker of a cluster has its own: ` +
          'together they admit the limit times their number. Give it store: redisStore(...).',
      );
    }
  }

  limitOf(policies: readonly NamedPolicy[]): Limit {
    return { policies, scope: keyScope(this.name, policies) };
  }

  /** Takes the cost of every part, or (peek, or a refusal) nothing. Answers at once where the store does. */
  decide(op: 'consume' | 'peek', parts: readonly Part[]): Decision | Promise<Decision> {
    this.#checkOpen();
    // Nothing to take is nothing to write.
    const request: DecidingRequest = { op: parts.every(({ cost }) => cost === 0) ? 'peek' : op, parts };
    const call: StoreCall = { abandoned: false };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = this.store.perform([request], call);
    } catch (error) {
      return this.#withoutStore(request, error);
    }
    if (!isPending(answers)) return this.#conclude(this.store, request, answers[0]);
    return this.#settle(withinDeadline(answers, this.#timeoutMs, call)).then(
      ([answer]) => this.#conclude(this.store, request, answer),
      (error: unknown) => this.#withoutStore(request, error),
    );
  }

  /**
   * Gives back, resets, blocks or unblocks, in one call. The last three act on this process's stand-in as well, so that a
   * blocked client stays blocked while the store is away.
   */
  async edit(requests: readonly EditingRequest[], store: Store = this.store): Promise<void> {
    this.#checkOpen();
    const hereToo = requests.filter(({ op }) => op !== 'refund');
    if (hereToo.length > 0) await this.#local?.perform(hereToo);
    const call: StoreCall = { abandoned: false };
    let answers: StoreAnswers | Promise<StoreAnswers>;
    try {
      answers = store.perform(requests, call);
      if (isPending(answers)) answers = await this.#settle(withinDeadline(answers, this.#timeoutMs, call));
    } catch (error) {
      throw asStoreError(error);
    }
    const failed = answers.find((answer) => answer instanceof Error);
    if (failed !== undefined) throw asStoreError(failed);
  }

  async refund(decision: Decision, given?: number): Promise<void> {
    const receipt = this.#receipts.get(decision);
    if (receipt === undefined) {
      throw typeError(
        'SLUICE_DECISION_UNKNOWN',
        `refund takes a decision that this limiter made, itself and not a copy, got ${shown(decision)}`,
      );
    }
    const cost = given ?? decision.cost;
    if (!Number.isSafeInteger(cost) || cost < 0 || cost > decision.cost) {
      const error = typeof cost === 'number' ? rangeError : typeError;
      throw error(
        'SLUICE_COST_INVALID',
        `refund gives back a whole number of units, from 0 to the ${String(decision.cost)} of the decision, got ${shown(cost)}`,
      );
    }
    if (cost > 0) await this.#giveBack(decision, receipt, (part) => Math.min(cost, part.cost));
  }

  /** Gives back what those parts of a decision took that are chosen; as {@link refund}, once. */
  async refundParts(decision: Decision, chosen: (part: Part) => boolean): Promise<void> {
    const receipt = this.#receipts.get(decision);
    if (receipt !== undefined) await this.#giveBack(decision, receipt, (part) => (chosen(part) ? part.cost : 0));
  }

  async #giveBack(decision: Decision, receipt: Receipt, costOf: (part: Part) => number): Promise<void> {
    if (!decision.allowed || receipt.refunded) return;
    receipt.refunded = true;
    const { store, parts, answer } = receipt;
    const requests = parts.flatMap((part, i): EditingRequest[] => {
      const cost = costOf(part);
      if (cost === 0) return [];
      const chargedUntilMs = (answer.parts[i]?.policies ?? []).map(({ resetAfterMs }) => answer.atMs + resetAfterMs);
      return [{ op: 'refund', part: { ...part, cost }, chargedUntilMs }];
    });
    if (requests.length > 0) await this.edit(requests, store);
  }

  /** Settles what is in flight. Called again, it answers when the first call does. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    if (releaseName(this.store, this.name)) await this.store.close?.();
  }

  #conclude(
    store: Store,
    request: DecidingRequest,
    answer: StoreAnswer | Error | undefined,
  ): Decision | Promise<Decision> {
    if (answer instanceof Error) return this.#withoutStore(request, answer);
    const { parts } = request;
    const policies = answer?.parts.flatMap((part) => part.policies) ?? [];
    if (answer === undefined || policies.length === 0) {
      return this.#withoutStore(request, new StoreError('SLUICE_STORE_REPLY_INVALID', 'the store gave no answer'));
    }
    const ifTaken = answer.parts.flatMap((part) => part.ifTaken ?? part.policies);
    const blocked = answer.parts.some((part) => part.blocked);
    const cost = Math.max(...parts.map((part) => part.cost));
    const decision = combine(policies, { cost, blocked, source: store.source, atMs: answer.atMs }, ifTaken);
    // A peek took nothing: it leaves nothing to give back.
    this.#receipts.set(decision, { store, parts, answer, refunded: request.op === 'peek' });
    return decision;
  }

  #withoutStore(request: DecidingRequest, error: unknown): Decision | Promise<Decision> {
    if (this.#onStoreError === 'throw' || isFault(error)) throw asStoreError(error);
    if (this.#onStoreError === 'local' && this.#local !== undefined) {
      const [answer] = this.#local.perform([request]) as StoreAnswers;
      return this.#conclude(this.#local, request, answer);
    }
    if (this.#onStoreError === 'local') throw asStoreError(error); // the memory store itself failed: its clock threw, say
    const decision = unavailable(
      this.#onStoreError === 'allow',
      Math.max(...request.parts.map((part) => part.cost)),
      request.parts[0]?.limit.policies[0]?.name ?? this.name,
    );
    this.#receipts.set(decision, {
      store: this.store,
      parts: request.parts,
      answer: { atMs: 0, parts: [] },
      refunded: true,
    });
    return decision;
  }

  /** Counts what is in flight, for close. */
  async #settle(answers: Promise<StoreAnswers>): Promise<StoreAnswers> {
    this.#inFlight++;
    try {
      return await answers;
    } finally {
      this.#inFlight--;
      if (this.#inFlight === 0) this.#idle?.();
    }
  }

  #checkOpen(): void {
    if (this.#closing !== undefined)
      throw new SluiceError('SLUICE_LIMITER_CLOSED', `the limiter ${this.name} is closed`);
  }
}

function isPending(answers: StoreAnswers | Promise<StoreAnswers>): answers is Promise<StoreAnswers> {
  return !Array.isArray(answers);
}

/** Not an outage, which passes, but something to be mended: never covered up. */
function isFault(error: unknown): boolean {
  return error instanceof SluiceError && FAULTS.includes(error.code);
}

function asStoreError(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  return new StoreError(
    'SLUICE_STORE_FAILED',
    `the store failed: ${error instanceof Error ? error.message : String(error)}`,
    { cause: error },
  );
}

/**
 * Checks what a caller gave as a cost.
 *
 * @throws TypeError when it is no number, RangeError when it is no whole one from 0 to 2^53 - 1; both
 * `SLUICE_COST_INVALID`.
 */
export function checkCost(cost: unknown): asserts cost is number {
  if (typeof cost !== 'number')
    throw typeError(
      'SLUICE_COST_INVALID',
      `cost must be a whole number, got ${shown(cost)}; write a number such as 1; nothing was consumed`,
    );
  if (!Number.isSafeInteger(cost) || cost < 0) {
    throw rangeError(
      'SLUICE_COST_INVALID',
      `cost must be a whole number from 0 to 2^53 - 1, got ${shown(cost)}; ${cost < 0 ? 'to give units back use refund(decision)' : 'count in smaller units'}; nothing was consumed`,
    );
  }
}
