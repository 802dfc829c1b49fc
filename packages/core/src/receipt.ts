import type { Decision } from './decision.ts';
import type { AskedPart } from './managed/resolve.ts';
import type { Limit, Part, Store, StoreAnswer } from './stores/store.ts';

/** What a decision took, and where from: needed to give it back, or to charge more. */
export interface Receipt {
  readonly store: Store;
  /** What was asked for, and what the store counted of it: the same but for a local share. */
  readonly asked: readonly AskedPart[];
  readonly counted: readonly Part[];
  readonly answer: StoreAnswer;
  isSpent: boolean;
}

/** Makes what it is given, so that a class which extends it can put private fields on objects that others made. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- only a class has private fields to put
class Given {
  constructor(object: object) {
    return object;
  }
}

/**
 * A decision with its receipt on itself, where nobody else sees it: no field, no symbol, no prototype, and none of it in a
 * copy. (An entry in a WeakMap says the same, and costs more than all else that is done for a decision in memory.)
 */
export class Receipted extends Given {
  readonly #issuer: object;
  #receipt: Receipt | undefined;
  /** Where the receipt is made only when somebody asks for it: the store, and the one key that it decided about. */
  readonly #store: Store | undefined;
  readonly #limit: Limit | undefined;
  readonly #subject: string;

  /** @param issuer - Who alone is told. */
  constructor(
    decision: Decision,
    issuer: object,
    receipt: Receipt | undefined,
    store?: Store,
    limit?: Limit,
    subject: string = '',
  ) {
    super(decision);
    this.#issuer = issuer;
    this.#receipt = receipt;
    this.#store = store;
    this.#limit = limit;
    this.#subject = subject;
  }

  /** The receipt of a decision; undefined for what has none, or one of another issuer. */
  static receiptOf(decision: unknown, issuer: object): Receipt | undefined {
    if (typeof decision !== 'object' || decision === null || !(#issuer in decision)) return undefined;
    if (decision.#issuer !== issuer) return undefined;
    decision.#receipt ??= receiptOfOne(
      decision as unknown as Decision,
      decision.#store as Store,
      decision.#limit as Limit,
      decision.#subject,
    );
    return decision.#receipt;
  }
}

function receiptOfOne(decision: Decision, store: Store, limit: Limit, subject: string): Receipt {
  const { atMs, cost, outcome, policies, allowed } = decision;
  const parts = [{ limit, subject, cost }];
  const answer = { atMs, parts: [{ blocked: outcome === 'blocked', policies }] };
  return { store, asked: parts, counted: parts, answer, isSpent: !allowed };
}
