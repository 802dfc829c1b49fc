import { PrivateFields } from '../../engine/private-fields.ts';
import type { Decision } from '../../engine/decision.ts';
import { rangeError, shown, typeError } from '../../errors.ts';
import { currentOf } from '../../engine/limit-source.ts';
import type { UnresolvedPart } from '../resolve.ts';
import { holdsSlots } from '../../engine/policy.ts';
import {
  settlementsOf,
  type DecisionSettlement,
  type EditingRequest,
  type Limit,
  type Part,
  type SettlingRequest,
  type Store,
  type StoreAnswer,
} from '../../engine/store.ts';

/** The units that a decision took, and their place: needed for refunds and charges. */
interface Receipt {
  readonly store: Store;
  /** The requested parts, and what the store counted for them: the same except for a local share. */
  readonly requested: readonly UnresolvedPart[];
  readonly counted: readonly Part[];
  readonly answer: StoreAnswer;
  isSpent: boolean;
}

/**
 * A decision that carries its receipt in private fields: no property, no symbol, no prototype, and nothing of it in
 * a copy. (A WeakMap would do the same, and costs several times the rest of a decision in memory.) Three fields: V8
 * reserves room for as many at once.
 */
class Receipted extends PrivateFields {
  readonly #issuer: object;
  /** The receipt, or the one limit of the decision: then the receipt is made on first use. */
  #receipt: Receipt | Limit;
  readonly #subject: string;

  /**
   * @param issuer - The only reader of the receipt.
   * @param subject - The one key of the decision, where a limit replaces the receipt.
   */
  constructor(decision: Decision, issuer: object, receipt: Receipt | Limit, subject = '') {
    super(decision);
    this.#issuer = issuer;
    this.#receipt = receipt;
    this.#subject = subject;
  }

  /**
   * The receipt of a decision; undefined for other values, and for decisions of another issuer.
   *
   * @param store - Of the issuer.
   */
  static receiptOf(decision: unknown, issuer: object, store: Store): Receipt | undefined {
    if (typeof decision !== 'object' || decision === null || !(#issuer in decision)) return undefined;
    if (decision.#issuer !== issuer) return undefined;
    const receipt = decision.#receipt;
    if ('counted' in receipt) return receipt;
    const made = receiptOfOne(decision as object as Decision, store, receipt, decision.#subject);
    decision.#receipt = made;
    return made;
  }
}

function receiptOfOne(decision: Decision, store: Store, limit: Limit, subject: string): Receipt {
  const { atMs, cost, policies, allowed } = decision;
  const parts = [{ limit, subject, cost }];
  return {
    ...{ store, requested: parts, counted: parts },
    ...{ answer: { atMs, parts: [{ blocked: false, policies }] }, isSpent: !allowed },
  };
}

/** The requests that settle a decision. */
export interface Settlement {
  readonly store: Store;
  readonly requests: readonly EditingRequest[];
  /** Allows another attempt. Called when certainly nothing was sent. */
  undo(): void;
}

/** The receipts of a limiter's decisions, which live as long as the decisions: each is settled once. */
export class Receipts {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Puts a receipt on a new decision, once.
   *
   * @param isSpent - Whether there is nothing to settle.
   */
  write(decision: Decision, { store, requested, counted, answer, isSpent }: Readonly<Receipt>): void {
    new Receipted(decision, this, { store, requested, counted, answer, isSpent: isSpent || !decision.allowed });
  }

  /** As {@link write}, of a decision that leaves nothing to settle. */
  writeSpent(decision: Decision): void {
    const answer = { atMs: decision.atMs, parts: [] };
    new Receipted(decision, this, { store: this.#store, requested: [], counted: [], answer, isSpent: true });
  }

  /** As {@link write}, of one key in the limiter's store: the receipt is made on first use. */
  writeLazily(decision: Decision, limit: Limit, subject: string): void {
    new Receipted(decision, this, limit, subject);
  }

  /**
   * Refunds units of a decision. Default: all of them.
   *
   * @throws TypeError `SLUICE_DECISION_UNKNOWN`; RangeError or TypeError `SLUICE_COST_INVALID`.
   */
  refundOf(decision: Decision, units: number | undefined): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    if (receipt === undefined) {
      throw typeError(
        'SLUICE_DECISION_UNKNOWN',
        `refund takes a key, or a decision that this limiter made, itself and not a copy, got ${shown(decision)}`,
      );
    }
    const cost = units ?? decision.cost;
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
   * Refunds the positions that a decision took in pacing policies, for a request that never starts. Units of
   * policies that only count stay taken.
   */
  refundOfPositions(decision: Decision): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    return receipt === undefined ? undefined : spend(receipt, 'refund', ({ cost }) => cost, onlyPositions);
  }

  /** The requests that release or renew the slots of a decision; undefined where it holds none. */
  slotsOf(decision: Decision, op: 'release' | 'renew'): Omit<Settlement, 'undo'> | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    if (receipt === undefined || receipt.answer.parts.length === 0 || !decision.allowed) return undefined;
    const held = receipt.counted.filter(isHeld);
    return held.length === 0 ? undefined : { store: receipt.store, requests: held.map((part) => ({ op, part })) };
  }

  /**
   * Until when each part of a decision that has a cost, and each policy of it, is charged: what another process needs
   * to settle it. Undefined where it took nothing from the limiter's own store.
   */
  chargedUntilOf(decision: Decision): readonly (readonly number[])[] | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    if (receipt === undefined || receipt.isSpent || receipt.store !== this.#store) return undefined;
    return settlementsOf('refund', receipt.counted, receipt.answer).map(({ chargedUntilMs }) => chargedUntilMs);
  }

  /** How soon the first slots of a decision expire without a renewal, by the current policies. */
  slotTtlMs(decision: Decision): number {
    const { requested, counted } = Receipted.receiptOf(decision, this, this.#store) as Receipt;
    const ttls = counted.flatMap((part, i) => {
      if (!isHeld(part)) return [];
      const { limit, subject } = requested[i] ?? part;
      const { policies } = currentOf(limit, subject) ?? part.limit;
      return policies.filter((named) => holdsSlots([named])).map(({ windowMs }) => windowMs);
    });
    return Math.min(...ttls);
  }

  /** Refunds what the chosen parts of a decision took. */
  refundOfParts(decision: Decision, chosen: (requested: UnresolvedPart) => boolean): Settlement | undefined {
    const receipt = Receipted.receiptOf(decision, this, this.#store);
    return receipt === undefined ? undefined : spend(receipt, 'refund', (part) => (chosen(part) ? part.cost : 0));
  }

  /**
   * Changes the cost of a decision, whose parts have one cost, to the actual one: refunds what was not used, or
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

/** The request for pacing policies alone. */
function onlyPositions(request: DecisionSettlement): DecisionSettlement | undefined {
  const chargedUntilMs = request.part.limit.policies.map(({ algorithm }, j) =>
    algorithm.paces === true ? (request.chargedUntilMs[j] ?? 0) : 0,
  );
  return chargedUntilMs.some((untilMs) => untilMs > 0) ? { ...request, chargedUntilMs } : undefined;
}

function spend(
  receipt: Receipt,
  op: SettlingRequest['op'],
  costOf: (requested: UnresolvedPart) => number,
  narrow: (request: DecisionSettlement) => DecisionSettlement | undefined = (request) => request,
): Settlement | undefined {
  if (receipt.isSpent) return undefined;
  receipt.isSpent = true;
  const { store, requested, counted, answer } = receipt;
  const requests = settlementsOf(
    op,
    counted.map((part, i) => ({ ...part, cost: costOf(requested[i] as UnresolvedPart) })),
    answer,
  ).flatMap((request) => narrow(request) ?? []);
  if (requests.length === 0) return undefined;
  const undo = (): void => {
    receipt.isSpent = false;
  };
  return { store, requests, undo };
}
