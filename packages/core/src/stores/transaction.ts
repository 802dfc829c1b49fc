import { asStoreError, StoreError, shown } from '../errors.ts';
import { functionThat, readOptions, type Field, type Options } from '../values/shape.ts';
import { parseName } from '../values/name.ts';
import { endOf, KEPT_MS, perform, type Held } from './perform.ts';
import type { Answer, Store } from './store.ts';
import { readText, writeText } from './text.ts';

/** A text to be kept under a key in place of the one before. */
export interface Write {
  readonly key: string;
  /** At most 64 kB of ASCII; undefined: the key is removed. */
  readonly text: string | undefined;
  /** The key may be removed from this instant of the database's clock on, and need not be. 0 if `text` is undefined. */
  readonly expiresAtMs: number;
}

/**
 * Decides over the texts that are kept under the keys, in their order (null or undefined: nothing is kept), at this instant
 * of the database's clock, in milliseconds since 1970. Returns what to write.
 */
export type Decide = (texts: readonly (string | null | undefined)[], atMs: number) => readonly Write[];

/**
 * Calls `decide` with the texts of these keys, and writes what it returns, in one transaction:
 *
 * - No other transaction reads or writes one of the keys between this reading and the commit. The keys come sorted:
 *   locked in their order, they make no deadlock.
 * - The instant is read after the keys are locked.
 * - It throws or rejects if nothing was written, or if that is not known. It may begin again, and call `decide` again,
 *   only after a rollback that is certain.
 */
export type Transaction = (keys: readonly string[], decide: Decide) => void | Promise<void>;

const TRANSACTION_STORE = {
  /** The `source` of its decisions, such as `'sqlite'`. */
  source: parseName as Field<string>,
  /** Reads, decides and writes: see {@link Transaction}. */
  transaction: functionThat<Transaction>('a function (keys, decide)') as Field<Transaction>,
};

export interface TransactionStoreOptions extends Options<typeof TRANSACTION_STORE> {}

/**
 * A store of one's own on anything that has transactions. Every policy and operation works, exactly, since the program
 * decides over the texts that are kept. It is a store in this process if `transaction` returns no promise.
 *
 * Errors of `transaction` become a StoreError with code SLUICE_STORE_FAILED; a text that no store of Sluice wrote is
 * SLUICE_STORE_KEY_FOREIGN. `describeStore` of `@sluice/core/testing` tests what you write.
 *
 * @example
 * ```ts
 * const read = database.prepare('SELECT text FROM sluice WHERE key = ?');
 * const remove = database.prepare('DELETE FROM sluice WHERE key = ?');
 * const write = database.prepare('INSERT OR REPLACE INTO sluice (key, text, expires_at) VALUES (?, ?, ?)');
 *
 * const store = transactionStore({
 *   source: 'sqlite',
 *   transaction(keys, decide) {
 *     database.exec('BEGIN IMMEDIATE');
 *     try {
 *       const texts = keys.map((key) => read.get(key)?.text as string | undefined);
 *       for (const { key, text, expiresAtMs } of decide(texts, Date.now())) {
 *         if (text === undefined) remove.run(key);
 *         else write.run(key, text, expiresAtMs);
 *       }
 *       database.exec('COMMIT');
 *     } catch (error) {
 *       database.exec('ROLLBACK');
 *       throw error;
 *     }
 *   },
 * });
 * ```
 *
 * @throws PolicyError for a bad or unknown option.
 */
export function transactionStore(options: TransactionStoreOptions): Store {
  const { source, transaction } = readOptions(options, TRANSACTION_STORE, 'transactionStore');
  return {
    source,
    perform(op, asks) {
      const keys = [...new Set(asks.map(({ key }) => key))].sort();
      /** Of the last time that the transaction began. */
      let answer: Answer | undefined;
      const answered = (): Answer => answer ?? fail('transaction() ended without a call of decide()');
      const failed = (error: unknown): never => {
        throw asStoreError(error);
      };
      try {
        const committed = transaction(keys, (texts, atMs) => {
          const held = readHeld(keys, texts, atMs);
          answer = perform(held, op, asks, Math.floor(atMs));
          const writes = keys.map((key) => writeOf(key, held.get(key)));
          return writes.filter(({ text }, i) => text !== (texts[i] ?? undefined));
        });
        // What a function returns that need not return anything is no promise, as a rule.
        if (typeof (committed as Partial<Promise<void>> | undefined)?.then !== 'function') return answered();
        return (committed as Promise<void>).then(answered, failed);
      } catch (error) {
        return failed(error);
      }
    },
  };
}

/** @throws StoreError for what is no reading of these keys. */
function readHeld(keys: readonly string[], texts: Parameters<Decide>[0], atMs: number): Map<string, Held> {
  // A driver may return a 64-bit number as text or as a bigint.
  if (typeof atMs !== 'number' || !(atMs >= 0 && atMs <= Number.MAX_SAFE_INTEGER) || texts.length !== keys.length) {
    const got = `got ${String(texts.length)} and ${shown(atMs)}`;
    return fail(`decide() takes ${String(keys.length)} texts and milliseconds since 1970, ${got}`);
  }
  const held = new Map<string, Held>();
  for (const [i, key] of keys.entries()) {
    const text = texts[i] ?? undefined;
    if (text !== undefined) held.set(key, readText(key, text));
  }
  return held;
}

function writeOf(key: string, held: Held | undefined): Write {
  const endsAtMs = held === undefined ? 0 : endOf(held);
  if (held === undefined || endsAtMs === 0) return { key, text: undefined, expiresAtMs: 0 };
  return { key, text: writeText(held), expiresAtMs: endsAtMs + KEPT_MS };
}

function fail(why: string): never {
  throw new StoreError('SLUICE_STORE_REPLY_INVALID', why);
}
