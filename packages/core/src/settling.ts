import type { Decision } from './decision.ts';
import type { SluiceError } from './errors.ts';
import { isNewHolder } from './holder.ts';
import type { AskedPart } from './managed/resolve.ts';
import { holdsSlots } from './policy.ts';
import { Receipts, type Settlement } from './receipts.ts';
import type { EditingRequest, Part, Store, StoreAnswer } from './stores/store.ts';

/** What settling needs of its limiter. */
export interface SettlingGrounds {
  /** @throws SluiceError when the limiter is closed. */
  readonly checkOpen: () => void;
  /** Sends edits, and has a limiter that closes wait for them. */
  readonly perform: (requests: readonly EditingRequest[], store: Store) => Promise<readonly StoreAnswer[]>;
}

/** What can still be done about decisions that were made: giving back, charging more, releasing and renewing what they hold. */
export class Settling {
  readonly receipts: Receipts = new Receipts();
  readonly #grounds: SettlingGrounds;

  constructor(grounds: SettlingGrounds) {
    this.#grounds = grounds;
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
    await this.#hold(decision, 'release');
  }

  /** Has the slots of a decision expire anew. Whether all of them were still held. */
  async renew(decision: Decision): Promise<boolean> {
    const answers = await this.#hold(decision, 'renew');
    return answers.length > 0 && answers.every(({ held }) => held === true);
  }

  async #hold(decision: Decision, op: 'release' | 'renew'): Promise<readonly StoreAnswer[]> {
    const what = this.receipts.slotsOf(decision, op);
    if (what === undefined) return [];
    this.#grounds.checkOpen();
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
