import { asStoreError, StoreError, shown } from '../errors.ts';
import { functionThat, readOptions, type Field, type Options } from '../values/shape.ts';
import { parseName } from '../values/name.ts';
import { readEnd, KEPT_MS, perform, type Held, type Keys } from './perform.ts';
import type { Answer, Ask, Op, Store } from './store.ts';
import { readText, writeText } from './text.ts';

/** The new value of a key. */
export interface Write {
  readonly key: string;
  /** At most 64 kB of ASCII; undefined removes the key. */
  readonly text: string | undefined;
  /**
   * From this instant of the database's clock on, the key may be removed, but need not be. 0 if `text` is undefined.
   */
  readonly expiresAtMs: number;
}

/**
 * Decides from the values stored under the keys, in the same order (null or undefined: nothing is stored), at this time
 * of the database's clock, in milliseconds since 1970. Returns what to write.
 */
export type Decide = (texts: readonly (string | null | undefined)[], atMs: number) => readonly Write[];

/**
 * Calls `decide` with the values of these keys, and writes what it returns, in one transaction:
 *
 * - No other transaction reads or writes one of the keys between this read and the commit. The keys are sorted: lock
 * them in this order to avoid deadlocks.
 * - The instant is read after the keys are locked.
 * - It throws or rejects if nothing was written, or if that is unknown. It may start over, and call `decide` again,
 *   only after a certain rollback.
 */
export type Transaction = (keys: readonly string[], decide: Decide) => void | Promise<void>;

export interface Request {
  readonly op: Op;
  readonly asks: readonly Ask[];
}

const TRANSACTION_STORE = {
  /** The `source` of its decisions, such as `'sqlite'`. */
  source: parseName as Field<string>,
  /** Reads, decides and writes: see {@link Transaction}. */
  transaction: functionThat<Transaction>('a function (keys, decide)') as Field<Transaction>,
};

export interface TransactionStoreOptions extends Options<typeof TRANSACTION_STORE> {}

/**
 * A store of your own on anything that has transactions. Every policy and operation works exactly, because the same
 * program decides over the stored values. Decisions are synchronous if `transaction` returns no promise.
 *
 * Errors of `transaction` become a StoreError with code SLUICE_STORE_FAILED; a value that no Sluice store wrote causes
 * SLUICE_STORE_KEY_FOREIGN. `describeStore` of `@sluice/core/testing` tests your store, and
 * docs/guides/creating-a-store.md has an example.
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function transactionStore(options: TransactionStoreOptions): Store {
  const { source, transaction } = readOptions(options, TRANSACTION_STORE, 'transactionStore');
  return {
    source,
    perform(op, asks) {
      const requests = new Requests([{ op, asks }]);
      try {
        const committed = transaction(requests.keys, requests.decide);
        // A function that need not return anything usually returns no promise.
        if (typeof (committed as Partial<Promise<void>> | undefined)?.then !== 'function') return requests.answerOf(0);
        return (committed as Promise<void>).then(
          () => requests.answerOf(0),
          (error: unknown) => {
            throw asStoreError(error);
          },
        );
      } catch (error) {
        throw asStoreError(error);
      }
    },
  };
}

/**
 * The requests of one transaction, in order. They are decided each time the transaction starts; the last time counts.
 */
export class Requests {
  readonly keys: readonly string[];
  readonly #requests: readonly Request[];
  #answers: readonly (Answer | Error)[] = [];

  constructor(requests: readonly Request[]) {
    this.#requests = requests;
    this.keys = [...new Set(requests.flatMap(({ asks }) => asks.map(({ key }) => key)))].sort();
  }

  readonly decide: Decide = (texts, atMs) => {
    // A driver may return a 64-bit number as text or as a bigint.
    const now = typeof atMs === 'number' ? Math.floor(atMs) : Number.NaN;
    if (!Number.isSafeInteger(now) || now < 0 || texts.length !== this.keys.length) {
      throw unusable(
        `decide() takes ${String(this.keys.length)} texts and milliseconds since 1970, got ${String(texts.length)} and ${shown(atMs)}`,
      );
    }
    const kept = new Map(this.keys.map((key, i) => [key, texts[i] ?? undefined]));
    const held = new ReadKeys(kept);
    this.#answers = this.#requests.map(({ op, asks }) => {
      try {
        return perform(held, op, asks, now);
      } catch (error) {
        return error as Error;
      }
    });
    return held.writes();
  };

  /**
   * @throws StoreError `SLUICE_STORE_KEY_FOREIGN` if one of its keys holds a value that no store wrote; the others are
   * decided.
   */
  answerOf(place: number): Answer {
    const answer = this.#answers[place] ?? unusable('transaction() ended without calling decide()');
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** The keys of a transaction, each parsed when it is first needed. */
class ReadKeys implements Keys {
  readonly #texts: ReadonlyMap<string, string | undefined>;
  readonly #held = new Map<string, Held>();

  constructor(texts: ReadonlyMap<string, string | undefined>) {
    this.#texts = texts;
  }

  get(key: string): Held | undefined {
    const text = this.#texts.get(key);
    let held = this.#held.get(key);
    if (held === undefined && text !== undefined) this.#held.set(key, (held = readText(key, text)));
    return held;
  }

  set(key: string, held: Held): void {
    this.#held.set(key, held);
  }

  writes(): readonly Write[] {
    return Array.from(this.#held, ([key, held]) => makeWrite(key, held)).filter(
      ({ key, text }) => text !== this.#texts.get(key),
    );
  }
}

function makeWrite(key: string, held: Held): Write {
  const endsAtMs = readEnd(held);
  if (endsAtMs === 0) return { key, text: undefined, expiresAtMs: 0 };
  return { key, text: writeText(held), expiresAtMs: endsAtMs + KEPT_MS };
}

function unusable(why: string): StoreError {
  return new StoreError('SLUICE_STORE_REPLY_INVALID', why);
}
