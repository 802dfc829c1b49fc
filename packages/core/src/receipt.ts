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
 * copy. (An entry in a WeakMap says the same, and costs several times what all else costs that is done for a decision in
 * memory.) Three fields: V8 makes room for so many at once.
 */
export class Receipted extends Given {
  readonly #issuer: object;
  /** The receipt, or the one limit that it is about: then the receipt is made when somebody asks for it. */
  #receipt: Receipt | Limit;
  readonly #subject: string;

  /**
   * @param issuer - Who alone is told.
   * @param subject - The one key that was decided about, where a limit stands in place of the receipt.
   */
  constructor(decision: Decision, issuer: object, receipt: Receipt | Limit, subject = '') {
    super(decision);
    this.#issuer = issuer;
    this.#receipt = receipt;
    this.#subject = subject;
  }

  /**
   * The receipt of a decision; undefined for what has none, or one of another issuer.
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
    ...{ store, asked: parts, counted: parts },
    ...{ answer: { atMs, parts: [{ blocked: false, policies }] }, isSpent: !allowed },
  };
}
