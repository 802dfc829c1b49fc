import type { Decision } from '../../engine/decision.ts';
import { messageOf, type SluiceError } from '../../errors.ts';
import { releaseWithRetry, type HeldSlots } from './keep-slots.ts';
import { isNewHolder } from './holder.ts';
import type { UnresolvedPart } from '../resolve.ts';
import { holdsSlots } from '../../engine/policy.ts';
import { warnOnce } from '../../warnings.ts';
import { registerSlots } from './acquired-slots.ts';
import { Receipts, type Settlement } from './receipts.ts';
import { isOneCall, type EditingRequest, type Part, type Store, type StoreAnswer } from '../../engine/store.ts';

/** Attempts to release the slots of a request, before they are left to expire. */
const ATTEMPTS = 2;

/** Settles decisions: refunds, charges, releases and renewals. */
export class Settlements {
  readonly receipts: Receipts;
  readonly #checkOpen: () => void;
  readonly #perform: (requests: readonly EditingRequest[], store: Store) => Promise<readonly StoreAnswer[]>;
  /** Decisions whose slots are held, and the callback for the last release. */
  #holding = 0;
  #allReleased: (() => void) | undefined;

  /**
   * @param checkOpen - Throws SluiceError when the limiter is closed.
   * @param perform - Sends edits, and counts them as in flight.
   */
  constructor(
    store: Store,
    checkOpen: () => void,
    perform: (requests: readonly EditingRequest[], store: Store) => Promise<readonly StoreAnswer[]>,
  ) {
    this.receipts = new Receipts(store);
    this.#checkOpen = checkOpen;
    this.#perform = perform;
  }

  /** @throws (rejects) as {@link Receipts.refundOf} does; StoreError. */
  async refund(decision: Decision, cost?: number): Promise<void> {
    await this.#send(this.receipts.refundOf(decision, cost));
  }

  /** Refunds the pacing positions of a request that never starts; as {@link refund}, once. */
  async refundPositions(decision: Decision): Promise<void> {
    await this.#send(this.receipts.refundOfPositions(decision));
  }

  /** Refunds what the chosen parts of a decision took; as {@link refund}, once. */
  async refundParts(decision: Decision, chosen: (part: UnresolvedPart) => boolean): Promise<void> {
    await this.#send(this.receipts.refundOfParts(decision, chosen));
  }

  /**
   * Gives back all that a decision took, slots included, for a request that never runs; also while the limiter closes.
   */
  async giveBack(decision: Decision): Promise<void> {
    const slots = this.acquiredSlotsOf(decision);
    await Promise.all([
      this.#sendAnyway(this.receipts.refundOf(decision, undefined)),
      slots && releaseWithRetry(slots),
    ]);
  }

  /** Changes the cost of a decision to the actual one, once; does nothing where the decision took none. */
  async settleAt(decision: Decision, actual: number): Promise<void> {
    await this.#send(this.receipts.settlementOf(decision, actual));
  }

  /**
   * The slots of a decision, for a caller that acquired them; undefined where it took none. All acquisitions of one
   * holder in this process hold the same slots, which the last one releases. As with {@link slotsOf}, the store stays
   * open until they are released or have expired.
   */
  acquiredSlotsOf(decision: Decision): HeldSlots | undefined {
    const held = this.receipts.slotsOf(decision, 'release');
    if (held === undefined) return undefined;
    const ttlMs = (): number => this.receipts.slotTtlMs(decision);
    const slots = registerSlots(held.store, held.requests, ttlMs, this.#keepOpen());
    return {
      ttlMs,
      renew: async () => {
        const areRenewed = !slots.hasEnded() && areHeld(await this.#hold(decision, 'renew'));
        if (areRenewed && !slots.hasEnded()) slots.renewed();
        return areRenewed;
      },
      release: async () => {
        if (slots.hasEnded()) return;
        if (slots.leave()) await this.#hold(decision, 'release');
        slots.end();
      },
    };
  }

  /**
   * The slots of a decision, for a request that holds them; undefined where it took none. They can be renewed and
   * released after the limiter was closed: its store stays open that long.
   */
  slotsOf(decision: Decision): HeldSlots | undefined {
    if (this.receipts.slotsOf(decision, 'release') === undefined) return undefined;
    let attempts = 0;
    const letGo = this.#keepOpen();
    return {
      ttlMs: () => this.receipts.slotTtlMs(decision),
      renew: async () => areHeld(await this.#hold(decision, 'renew')),
      release: async () => {
        attempts++;
        try {
          await this.#hold(decision, 'release');
        } catch (error) {
          if (attempts >= ATTEMPTS) letGo();
          throw error;
        }
        letGo();
      },
    };
  }

  /** Keeps the store open when the limiter is closed, until the returned function is called. */
  #keepOpen(): () => void {
    this.#holding++;
    let isHeld = true;
    return () => {
      if (isHeld) this.#holding--;
      isHeld = false;
      if (this.#holding === 0) this.#allReleased?.();
    };
  }

  /** Whether slots are held. */
  get holdsSlots(): boolean {
    return this.#holding > 0;
  }

  /** Calls back, once, when the last slots have been released, or could not be. */
  whenReleased(released: () => void): void {
    this.#allReleased = () => {
      this.#allReleased = undefined;
      released();
    };
  }

  async #hold(decision: Decision, op: 'release' | 'renew'): Promise<readonly StoreAnswer[]> {
    const what = this.receipts.slotsOf(decision, op);
    if (what === undefined) return [];
    return this.#perform(what.requests, what.store);
  }

  async #send(what: Settlement | undefined): Promise<void> {
    if (what !== undefined) this.#checkOpen();
    await this.#sendAnyway(what);
  }

  async #sendAnyway(what: Settlement | undefined): Promise<void> {
    if (what === undefined) return;
    try {
      await this.#perform(what.requests, what.store);
    } catch (error) {
      const nothingWasSent = isOneCall(what.store, what.requests);
      if (nothingWasSent && (error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') what.undo();
      throw error;
    }
  }

  /**
   * Releases slots of a decision that failed, once, because the store may have taken them all the same. Slots of a
   * named holder stay: the holder may have had them before, and retries.
   */
  releaseUnseen(parts: readonly Part[], store: Store, error: unknown): void {
    if ((error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') return; // nothing was sent
    const held = parts.filter(({ limit, holder }) => isNewHolder(holder) && holdsSlots(limit.policies));
    if (held.length === 0) return;
    const requests = held.map((part) => ({ op: 'release', part }) as const);
    // If that fails as well, the slots expire. Later requests report the failing store.
    this.#perform(requests, store).catch(() => undefined);
  }
}

function areHeld(answers: readonly StoreAnswer[]): boolean {
  return answers.length > 0 && answers.every(({ held }) => held === true);
}

/** Reports the failure of a refund that runs in the background. */
export function warnOfRefund(error: unknown): void {
  warnOnce('SLUICE_REFUND_FAILED', `units could not be given back: ${messageOf(error)}`);
}
