import type { Decision } from './decision.ts';
import type { SluiceError } from './errors.ts';
import { isNewHolder } from './holder.ts';
import type { HeldSlots } from './held-slots.ts';
import type { AskedPart } from './managed/resolve.ts';
import { holdsSlots } from './policy.ts';
import { Receipts, type Settlement } from './receipts.ts';
import type { EditingRequest, Part, Store, StoreAnswer } from './stores/store.ts';

/** What settling needs of its limiter. */
export interface SettlingGrounds {
  readonly store: Store;
  /** @throws SluiceError when the limiter is closed. */
  readonly checkOpen: () => void;
  /** Sends edits, and has a limiter that closes wait for them. */
  readonly perform: (requests: readonly EditingRequest[], store: Store) => Promise<readonly StoreAnswer[]>;
}

/** How often slots of requests are tried to be released, before they are left to expire. */
const ATTEMPTS = 2;

/** What can still be done about decisions that were made: giving back, charging more, releasing and renewing what they hold. */
export class Settling {
  readonly receipts: Receipts;
  readonly #grounds: SettlingGrounds;
  /** Decisions whose slots requests hold, and who is told when the last of them are released. */
  #holding = 0;
  #allReleased: (() => void) | undefined;

  constructor(grounds: SettlingGrounds) {
    this.#grounds = grounds;
    this.receipts = new Receipts(grounds.store);
  }

  /** @throws (rejects) as {@link Receipts.returnOf} does; StoreError. */
  async refund(decision: Decision, cost?: number): Promise<void> {
    await this.#send(this.receipts.returnOf(decision, cost));
  }

  /** Frees the places in time that a decision gave a request that never starts; as {@link refund}, once. */
  async refundPlaces(decision: Decision): Promise<void> {
    await this.#send(this.receipts.returnOfPlaces(decision));
  }

  /** Gives back what those parts of a decision took that are chosen; as {@link refund}, once. */
  async refundParts(decision: Decision, chosen: (part: AskedPart) => boolean): Promise<void> {
    await this.#send(this.receipts.returnOfParts(decision, chosen));
  }

  /** Makes a decision of one cost cost what it turned out to, once; nothing where none was taken. */
  async settleAt(decision: Decision, actual: number): Promise<void> {
    await this.#send(this.receipts.settlementOf(decision, actual));
  }

  /** Releases the slots that a decision holds. */
  async release(decision: Decision): Promise<void> {
    this.#grounds.checkOpen();
    await this.#hold(decision, 'release');
  }

  /** Has the slots of a decision expire anew. Whether all of them were still held. */
  async renew(decision: Decision): Promise<boolean> {
    this.#grounds.checkOpen();
    return areHeld(await this.#hold(decision, 'renew'));
  }

  /**
   * The slots of a decision, for a request that holds them; undefined where it took none. They can be renewed and released
   * after the limiter was closed: its store is kept that long.
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

  /** Calls back, once, when the last request has released its slots, or could not. */
  whenReleased(released: () => void): void {
    this.#allReleased = () => {
      this.#allReleased = undefined;
      released();
    };
  }

  async #hold(decision: Decision, op: 'release' | 'renew'): Promise<readonly StoreAnswer[]> {
    const what = this.receipts.slotsOf(decision, op);
    if (what === undefined) return [];
    return this.#grounds.perform(what.requests, what.store);
  }

  async #send(what: Settlement | undefined): Promise<void> {
    if (what === undefined) return;
    try {
      this.#grounds.checkOpen();
      await this.#grounds.perform(what.requests, what.store);
    } catch (error) {
      const isOneCall = what.requests.length === 1 || what.store.oneSubjectPerCall !== true;
      if (isOneCall && (error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') what.undo();
      throw error;
    }
  }

  /**
   * What nobody heard of may have been taken: its slots are released, once. Not those of a holder with a name, who may have
   * had them before, and asks again.
   */
  releaseUnseen(parts: readonly Part[], store: Store, error: unknown): void {
    if ((error as Partial<SluiceError>).code === 'SLUICE_BREAKER_OPEN') return; // nothing was sent
    const held = parts.filter(
      ({ limit, holder }) => holder !== undefined && isNewHolder(holder) && holdsSlots(limit.policies),
    );
    if (held.length === 0) return;
    const requests = held.map((part) => ({ op: 'release', part }) as const);
    // If that fails as well they expire, and who asks meanwhile hears of the failure.
    this.#grounds.perform(requests, store).catch(() => undefined);
  }
}

function areHeld(answers: readonly StoreAnswer[]): boolean {
  return answers.length > 0 && answers.every(({ held }) => held === true);
}
