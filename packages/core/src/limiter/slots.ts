import type { Decision } from '../decision.ts';
import { isSluiceError } from '../errors.ts';
import { startTimer, stopTimer, type Timer } from '../platform.ts';
import { compile } from '../policies/index.ts';
import { ALLOWED } from '../program/decide.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import { LimiterDecision } from './decision.ts';
import type { HeldSlots, LimiterHost } from './host.ts';
import type { PolicyAsk } from './limits.ts';

/** The same slots, held by all acquisitions of one holder in this process. */
interface Shared {
  readonly id: string;
  acquirers: number;
  /** When they expire, by `performance.now()`. */
  untilMs: number;
}

const sharedIn = new WeakMap<Store, Map<string, Shared>>();

/** With three renewals per `ttl`, a slot survives one failed renewal followed by a late one. */
const RENEWALS_PER_TTL = 3;

/** The slots that the decisions of a limiter hold. */
export class Slots {
  readonly #host: LimiterHost;
  /** What was acquired, and not released. */
  readonly #held = new Map<object, Shared>();
  #released: (() => void) | undefined;

  constructor(host: LimiterHost) {
    this.#host = host;
  }

  /** The slots of a decision; undefined if it took none. Called once for each decision. */
  heldBy(decision: Decision): HeldSlots | undefined {
    const receipt = LimiterDecision.readReceipt(decision);
    if (receipt === undefined || receipt.op === 'peek' || !decision.allowed) return undefined;
    const asks = receipt.asks.filter(({ holder }) => holder !== undefined && holder > 0);
    if (asks.length === 0) return undefined;
    const { isLocal } = receipt;
    const ttlMs = Math.min(...asks.map(({ policy }) => compile(policy).windowMs));
    const acquirer = {};
    const shared = this.#share(asks, ttlMs);
    this.#held.set(acquirer, shared);
    const hasEnded = (): boolean => !this.#held.has(acquirer) || performance.now() >= shared.untilMs;
    const end = (): void => {
      this.#held.delete(acquirer);
      if (this.#held.size === 0) this.#released?.();
    };
    return {
      ttlMs,
      renew: async () => {
        if (hasEnded()) return false;
        const { figures } = await this.#perform('renew', asks, isLocal);
        if (!figures.every((of) => of[ALLOWED] === 1)) return false;
        shared.untilMs = performance.now() + ttlMs;
        return true;
      },
      release: async () => {
        if (hasEnded()) {
          end();
          return;
        }
        this.#held.delete(acquirer);
        if (--shared.acquirers === 0) this.#forget(shared);
        try {
          if (shared.acquirers === 0) await this.#release(asks, isLocal);
        } finally {
          end();
        }
      },
    };
  }

  /** Counts one more acquisition of the same slots, and forgets those that have expired. */
  #share(asks: readonly Ask[], ttlMs: number): Shared {
    const nowMs = performance.now();
    const known = sharedIn.get(this.#host.store) ?? new Map<string, Shared>();
    sharedIn.set(this.#host.store, known);
    for (const [id, { untilMs }] of known) {
      if (untilMs > nowMs) break;
      known.delete(id);
    }
    for (const [acquirer, { untilMs }] of this.#held) {
      if (untilMs > nowMs) break;
      this.#held.delete(acquirer);
    }
    const id = asks.map(({ key, holder, cost }) => `${key} ${String(holder)} ${String(cost)}`).join();
    const found = known.get(id);
    const shared = found === undefined || found.untilMs <= nowMs ? { id, acquirers: 0, untilMs: 0 } : found;
    shared.acquirers++;
    shared.untilMs = nowMs + ttlMs;
    known.delete(id);
    known.set(id, shared);
    return shared;
  }

  /** Others that are held for hours may stand before it. */
  #forget(shared: Shared): void {
    const known = sharedIn.get(this.#host.store);
    if (known?.get(shared.id) === shared) known.delete(shared.id);
  }

  async #perform(op: Op, asks: readonly Ask[], isLocal: boolean): Promise<Answer> {
    const { fallback } = this.#host;
    if (!isLocal || fallback === undefined) return this.#host.send(op, asks);
    this.#host.changed(asks);
    return fallback.perform(op, asks);
  }

  async #release(asks: readonly Ask[], isLocal: boolean): Promise<void> {
    try {
      await this.#perform('give', asks, isLocal);
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      this.#host.keep('give', asks); // it names its holder, so it may be sent twice
    }
  }

  /**
   * Releases slots of a request that failed, because the store may have taken them all the same. Those of a named holder
   * stay: the holder may have had them before, and retries.
   */
  releaseUnseen(asks: readonly PolicyAsk[]): void {
    const held = asks.filter(({ holder = 0, want }) => holder > 0 && !want.isNamed);
    if (held.length > 0) this.#host.keep('give', held);
  }

  /**
   * Calls back once no slot is held, or all have expired.
   *
   * @returns False if that is so already: then it calls nothing.
   */
  whenReleased(call: () => void): boolean {
    if (this.#heldMs() <= 0) return false;
    let timer: Timer | undefined;
    this.#released = () => {
      this.#released = undefined;
      stopTimer(timer);
      call();
    };
    const checkAgain = (): void => {
      const leftMs = this.#heldMs();
      if (leftMs > 0) timer = startTimer(Math.ceil(leftMs), checkAgain);
      else this.#released?.();
    };
    checkAgain();
    return true;
  }

  /** Until the last slots expire. */
  #heldMs(): number {
    return Math.max(0, ...[...this.#held.values()].map(({ untilMs }) => untilMs)) - performance.now();
  }
}

/**
 * Renews slots until stopped. A renewal that fails is repeated at the next interval.
 *
 * @param lost - Called when a renewal shows that they are not held any more.
 * @returns Stops that.
 */
export function keepRenewing(slots: HeldSlots, lost: () => void): () => void {
  let timer: Timer | undefined;
  let isStopped = false;
  const schedule = (): void => {
    timer = startTimer(Math.ceil(slots.ttlMs / RENEWALS_PER_TTL), renew);
  };
  const renew = (): void => {
    schedule();
    slots.renew().then(
      (isHeld) => {
        if (!isHeld && !isStopped) lost();
      },
      () => undefined,
    );
  };
  schedule();
  return () => {
    isStopped = true;
    stopTimer(timer);
  };
}
