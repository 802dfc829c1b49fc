import type { Clock, Store, StoreAnswer, StoreRequest } from '@sluice/old-core';
import { keysOf, performRequest } from '@sluice/old-core/spi';

/** What `DatabaseSync` of node:sqlite and `Database` of better-sqlite3 have in common. */
export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
}

export interface Statement {
  get(...values: (string | number)[]): unknown;
  run(...values: (string | number)[]): unknown;
}

export interface SqliteStoreOptions {
  /** Default: the clock of the machine, which all processes that open the file share. */
  readonly clock?: Clock;
  /**
   * How long a call waits for the transactions of other processes. The event loop waits too, so it is less than the
   * `timeoutMs` of limiters. Default 50.
   */
  readonly busyTimeoutMs?: number;
}

/** How long a key is kept after its end, because the clock of a machine may step back. */
const KEPT_MS = 60_000;
/** Ended keys that a write removes at most: more than it adds. */
const SWEPT_AT_ONCE = 4;

/**
 * Limits in a file of SQLite: they hold over all processes of a machine, and outlive them. Each call is one transaction.
 * Who opened the database closes it.
 */
export function sqliteStore(database: Database, { clock = Date, busyTimeoutMs = 50 }: SqliteStoreOptions = {}): Store {
  database.exec(`
    PRAGMA busy_timeout = ${String(busyTimeoutMs)};
    CREATE TABLE IF NOT EXISTS sluice_keys (
      key TEXT PRIMARY KEY COLLATE BINARY,
      state TEXT NOT NULL,
      ends_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sluice_keys_by_end ON sluice_keys (ends_at_ms);
  `);
  const statements: Statements = {
    read: database.prepare('SELECT state FROM sluice_keys WHERE key = ?'),
    write: database.prepare('INSERT OR REPLACE INTO sluice_keys VALUES (?, ?, ?)'),
    remove: database.prepare('DELETE FROM sluice_keys WHERE key = ?'),
    sweep: database.prepare(
      'DELETE FROM sluice_keys WHERE key IN (SELECT key FROM sluice_keys WHERE ends_at_ms < ? LIMIT ?)',
    ),
  };
  return {
    source: 'remote',
    perform(requests) {
      // IMMEDIATE takes the lock before the first read: no other process decides between a read and its write.
      database.exec('BEGIN IMMEDIATE');
      try {
        const nowMs = Math.floor(clock.now());
        const answers = requests.map((request) => answer(request, nowMs, statements));
        database.exec('COMMIT');
        return answers;
      } catch (error) {
        database.exec('ROLLBACK');
        throw error; // the limiter does what its onStoreError says
      }
    },
  };
}

interface Statements {
  readonly read: Statement;
  readonly write: Statement;
  readonly remove: Statement;
  readonly sweep: Statement;
}

function answer(request: StoreRequest, nowMs: number, { read, write, remove, sweep }: Statements): StoreAnswer | Error {
  const texts = keysOf(request).map((key) => (read.get(key) as { state: string } | undefined | null)?.state);
  const performed = performRequest(request, texts, nowMs);
  if (performed instanceof Error) return performed;
  for (const { key, text, endsAtMs } of performed.changes) {
    if (text === undefined) remove.run(key);
    else write.run(key, text, endsAtMs);
    sweep.run(nowMs - KEPT_MS, SWEPT_AT_ONCE);
  }
  return performed.answer;
}
