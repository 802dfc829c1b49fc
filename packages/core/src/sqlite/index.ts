import { PolicyError, shown } from '../errors.ts';
import { parseTable, writeKey } from '../stores/rows.ts';
import type { Store } from '../stores/store.ts';
import { transactionStore } from '../stores/transaction.ts';
import { parsePrefix } from '../values/prefix.ts';
import { readOptions, withDefault, type Field, type Options, type WithDefault } from '../values/shape.ts';

const SHAPE = {
  /** The name of your application. All keys begin with it. 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`. */
  prefix: ((given) => parsePrefix(given, 'sqliteStore')) as Field<string>,
  /** The name of the table. Default `'sluice'`. */
  table: withDefault(parseTable, 'sluice') as WithDefault<string>,
};

export interface SqliteStoreOptions extends Options<typeof SHAPE> {}

/** `DatabaseSync` of node:sqlite, or `Database` of better-sqlite3: the parts used here. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

export interface SqliteStatement {
  get(...values: (string | number)[]): unknown;
  run(...values: (string | number)[]): unknown;
}

/** `Database` of node-sqlite3-wasm: the parts used here. */
export interface SqliteWasmDatabase {
  exec(sql: string): unknown;
  get(sql: string, values: (string | number)[]): unknown;
  run(sql: string, values: (string | number)[]): unknown;
}

/** A store in SQLite, which decides at once. */
export interface SqliteStore extends Store {
  readonly source: 'sqlite';
}

/** The maximum number of expired keys that a write removes: more than it adds. */
const MAX_SWEPT = 4;

/**
 * Limits in an SQLite file, which hold across all processes of a machine and survive restarts. Each call is one
 * transaction, decided by the machine's clock. While another process writes, it blocks the event loop for up to the
 * connection's `busy_timeout`: set `PRAGMA busy_timeout = 50` and `PRAGMA journal_mode = WAL`. Creates its table at
 * once.
 *
 * @param database - An open database, which the store never closes. @throws The database's error if the table cannot be
 * created.
 * @throws PolicyError for anything else, and for bad, missing or unknown options.
 *
 * @example
 * ```ts
 * const store = sqliteStore(new DatabaseSync('limits.db'), { prefix: 'shop' });
 * app.use(rateLimit({ limit: 100, window: '1m', store }));
 * ```
 */
export function sqliteStore(database: SqliteDatabase | SqliteWasmDatabase, options: SqliteStoreOptions): SqliteStore {
  const { prefix, table } = readOptions((options as unknown) ?? {}, SHAPE, 'sqliteStore');
  const prepare = preparing(database);
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY COLLATE BINARY, text TEXT NOT NULL, expires_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS ${table}_by_end ON ${table} (expires_at)`);
  const read = prepare(`SELECT text FROM ${table} WHERE key = ?`);
  const write = prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`);
  const remove = prepare(`DELETE FROM ${table} WHERE key = ?`);
  const sweep = prepare(`DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at < ? LIMIT ?)`);
  return transactionStore({
    source: 'sqlite',
    transaction(keys, decide) {
      // IMMEDIATE takes the lock before the first read: no other process decides between a read and its write.
      database.exec('BEGIN IMMEDIATE');
      try {
        const texts = keys.map((key) => (read.get(writeKey(prefix, key)) as { text: string } | undefined)?.text);
        const nowMs = Date.now();
        for (const { key, text, expiresAtMs } of decide(texts, nowMs)) {
          if (text === undefined) remove.run(writeKey(prefix, key));
          else write.run(writeKey(prefix, key), text, expiresAtMs);
          sweep.run(nowMs, MAX_SWEPT);
        }
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  }) as SqliteStore;
}

function preparing(database: SqliteDatabase | SqliteWasmDatabase): (sql: string) => SqliteStatement {
  const given: unknown = database;
  const { get, prepare } = (given ?? {}) as Partial<SqliteDatabase & SqliteWasmDatabase>;
  // In node-sqlite3-wasm, a statement that has read one row keeps the file locked; these functions do not.
  if (typeof get === 'function') {
    const wasm = database as SqliteWasmDatabase;
    return (sql) => ({ get: (...values) => wasm.get(sql, values), run: (...values) => wasm.run(sql, values) });
  }
  if (typeof prepare === 'function') return (sql) => (database as SqliteDatabase).prepare(sql);
  const expected = 'sqliteStore takes an open database of node:sqlite, better-sqlite3 or node-sqlite3-wasm';
  throw new PolicyError('database', `${expected}, got ${shown(database)}`, 'SLUICE_OPTION_INVALID');
}
