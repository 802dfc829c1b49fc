import type { Decision } from '../../engine/decision.ts';
import type { SluiceError } from '../../errors.ts';
import { isNewHolder } from './holder.ts';
import type { UnresolvedPart } from '../../managed/resolve.ts';
import { holdsSlots } from '../../engine/policy.ts';
import { Receipts, type Settlement } from './receipts.ts';
import type { EditingRequest, Part, Store, StoreAnswer } from '../../engine/store.ts';

/** Slots that a request holds, taken by one decision. */
export interface HeldSlots {
  /** How soon the first of them expire without a renewal. */
  ttlMs(): number;

  /**
   * Makes them expire a `ttl` from now. Returns whether all of them were still held.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  renew(): Promise<boolean>;

  /**
   * Releases them. Can be called once more after a failure.
   *
   * @throws (rejects) StoreError when the store fails or is late.
   */
  release(): Promise<void>;
}

/** Attempts to release the slots of a request, before they are left to expire. */
const ATTEMPTS = 2;

/** Settles decisions: refunds, charges, releases and renewals. */
export class Settlements {
  readonly receipts: Receipts;
  readonly #checkOpen: () => void;
  readonly #perform: (requests: readonly EditingRequest[], store: Store) => Promise<readonly StoreAnswer[]>;
  /** Decisions whose slots requests hold, and the callback for the last release. */
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

  /** Changes the cost of a decision to the actual one, once; does nothing where the decision took none. */
  async settleAt(decision: Decision, actual: number): Promise<void> {
    await this.#send(this.receipts.settlementOf(decision, actual));
  }

  /** Releases the slots that a decision holds. */
  async release(decision: Decision): Promise<void> {
    this.#checkOpen();
    await this.#hold(decision, 'release');
  }

  /** Makes the slots of a decision expire a `ttl` from now. Returns whether all of them were still held. */
  async renew(decision: Decision): Promise<boolean> {
    this.#checkOpen();
    return areHeld(await this.#hold(decision, 'renew'));
  }

  /**
   * The slots of a decision, for a request that holds them; undefined where it took none. They can be renewed and
   * released after the limiter was closed: its store stays open that long.
   */
  slotsOf(decision: Decision): HeldSlots | undefined {
    if (this.receipts.slotsOf(decision, 'release') === undefined) return undefined;
    this.#holding++;
    let attempts = 0;
    let isHeld = true;
    const letGo = (): void => {
      if (isHeld) this.#holding--;
      isHeld = false;
      if (this.#holding === 0) this.#allReleased?.();
    };
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

  /** Whether requests hold slots. */
  get holdsSlots(): boolean {
    return this.#holding > 0;
  }

  /** Calls back, once, when the last request has released its slots, or failed to. */
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
    if (what === undefined) return;
    try {
      this.#checkOpen();
      await this.#perform(what.requests, what.store);
    } catch (error) {
      const isOneCall = what.requests.length === 1 || what.store.oneSubjectPerCall !== true;
      if (isOneCall && (error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') what.undo();
      throw error;
    }
  }

  /**
   * Releases slots of a decision that failed, once, because the store may have taken them all the same. Slots of a
   * named holder stay: the holder may have had them before, and retries.
   */
  releaseUnseen(parts: readonly Part[], store: Store, error: unknown): void {
    if ((error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') return; // nothing was sent
    const held = parts.filter(
      ({ limit, holder }) => holder !== undefined && isNewHolder(holder) && holdsSlots(limit.policies),
    );
    if (held.length === 0) return;
    const requests = held.map((part) => ({ op: 'release', part }) as const);
    // If that fails as well, the slots expire. Later requests report the failing store.
    this.#perform(requests, store).catch(() => undefined);
  }
}

function areHeld(answers: readonly StoreAnswer[]): boolean {
  return answers.length > 0 && answers.every(({ held }) => held === true);
}
