import type { Decision } from './decision.ts';
import { rangeError, shown, typeError } from './errors.ts';
import { ManagedLimit } from './managed/managed-limit.ts';
import type { AskedPart } from './managed/resolve.ts';
import { holdsSlots } from './policy.ts';
import { Receipted, type Receipt } from './receipt.ts';
import {
  settlementsOf,
  type EditingRequest,
  type Limit,
  type Part,
  type SettlingRequest,
  type Store,
} from './stores/store.ts';

/** What is to be sent to settle a decision. */
export interface Settlement {
  readonly store: Store;
  readonly requests: readonly EditingRequest[];
  /** To be called when certainly nothing of it was sent, so that it may be tried again. */
  undo(): void;
}

/** The receipts of a limiter's decisions, for as long as somebody has the decision: each is settled once. */
export class Receipts {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Gives a decision that was just made its receipt, once.
   *
   * @param isSpent - Whether there is nothing to settle.
   */
  write(decision: Decision, { store, asked, counted, answer, isSpent }: Readonly<Receipt>): void {
    new Receipted(decision, this, { store, asked, counted, answer, isSpent: isSpent || !decision.allowed });
  }

  /** As {@link write}, of what the limiter's store took of one key: made when somebody asks for it. */
  writeTaken(decision: Decision, limit: Limit, subject: string): void {
    new Receipted(decision, this, limit, subject);
  }

  /**
   * Gives back so many units of a decision, or all of them.
   *
   * @throws TypeError `SLUICE_DECISION_UNKNOWN`; RangeError or TypeError `SLUICE_COST_INVALID`.
   */
  returnOf(decision: Decision, given: number | undefined): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
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
    return cost === 0 ? undefined : spend(receipt, 'refund', (part) => Math.min(cost, part.cost));
  }

  /**
   * Gives back the places in time that a decision gave, where its request never starts. What it took of policies that only
   * count stays taken.
   */
  returnOfPlaces(decision: Decision): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    return receipt === undefined ? undefined : spend(receipt, 'refund', ({ cost }) => cost, onlyPlaces);
  }

  /** What releases or renews the slots of a decision; undefined where it holds none. */
  slotsOf(decision: Decision, op: 'release' | 'renew'): Omit<Settlement, 'undo'> | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    if (receipt === undefined || receipt.answer.parts.length === 0 || !decision.allowed) return undefined;
    const held = receipt.counted.filter(isHeld);
    return held.length === 0 ? undefined : { store: receipt.store, requests: held.map((part) => ({ op, part })) };
  }

  /** When the first slots of a decision expire, unless they are renewed: by their policies as things stand. */
  slotTtlMs(decision: Decision): number {
    const { asked, counted } = Receipted.receiptOf(decision, this, this.#store) as Receipt;
    const ttls = counted.flatMap((part, i) => {
      if (!isHeld(part)) return [];
      const limit = asked[i]?.limit;
      const { policies } = (limit instanceof ManagedLimit ? limit.current() : limit) ?? part.limit;
      return policies.filter((named) => holdsSlots([named])).map(({ windowMs }) => windowMs);
    });
    return Math.min(...ttls);
  }

  /** Gives back what those parts of a decision took that are chosen. */
  returnOfParts(decision: Decision, chosen: (asked: AskedPart) => boolean): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    return receipt === undefined ? undefined : spend(receipt, 'refund', (part) => (chosen(part) ? part.cost : 0));
  }

  /**
   * Makes a decision, whose parts have one cost, cost what it turned out to: gives back what was not used of its cost, or
   * charges what was used beyond.
   */
  settlementOf(decision: Decision, actual: number): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    if (receipt === undefined) return undefined;
    const beyond = actual - decision.cost;
    return spend(receipt, beyond > 0 ? 'charge' : 'refund', () => Math.abs(beyond));
  }
}

function isHeld({ limit, holder }: Part): boolean {
  return holder !== undefined && holdsSlots(limit.policies);
}

/** The policies that only count left alone. */
function onlyPlaces(request: SettlingRequest): SettlingRequest | undefined {
  const chargedUntilMs = request.part.limit.policies.map(({ algorithm }, j) =>
    algorithm.paces === true ? (request.chargedUntilMs[j] ?? 0) : 0,
  );
  return chargedUntilMs.some((untilMs) => untilMs > 0) ? { ...request, chargedUntilMs } : undefined;
}

function spend(
  receipt: Receipt,
  op: SettlingRequest['op'],
  costOf: (asked: AskedPart) => number,
  narrow: (request: SettlingRequest) => SettlingRequest | undefined = (request) => request,
): Settlement | undefined {
  if (receipt.isSpent) return undefined;
  receipt.isSpent = true;
  const { store, asked, counted, answer } = receipt;
  const requests = settlementsOf(
    op,
    counted.map((part, i) => ({ ...part, cost: costOf(asked[i] as AskedPart) })),
    answer,
  ).flatMap((request) => narrow(request) ?? []);
  if (requests.length === 0) return undefined;
  const undo = (): void => {
    receipt.isSpent = false;
  };
  return { store, requests, undo };
}
