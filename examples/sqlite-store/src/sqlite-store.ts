import { transactionStore, type Clock, type Store } from '@sluice/core';

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

/** Ended keys that a write removes at most: more than it adds. */
const MAX_SWEPT = 4;

/**
 * Limits in a file of SQLite: they hold over all processes of a machine, and outlive them. Each call is one transaction.
 * Who opened the database closes it.
 */
export function sqliteStore(database: Database, { clock = Date, busyTimeoutMs = 50 }: SqliteStoreOptions = {}): Store {
  database.exec(`
    PRAGMA busy_timeout = ${String(busyTimeoutMs)};
    CREATE TABLE IF NOT EXISTS sluice_keys (
      key TEXT PRIMARY KEY COLLATE BINARY,
      text TEXT NOT NULL,
      expires_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sluice_keys_by_end ON sluice_keys (expires_at_ms);
  `);
  const read = database.prepare('SELECT text FROM sluice_keys WHERE key = ?');
  const write = database.prepare('INSERT OR REPLACE INTO sluice_keys VALUES (?, ?, ?)');
  const remove = database.prepare('DELETE FROM sluice_keys WHERE key = ?');
  const sweep = database.prepare(
    'DELETE FROM sluice_keys WHERE key IN (SELECT key FROM sluice_keys WHERE expires_at_ms < ? LIMIT ?)',
  );
  return transactionStore({
    source: 'sqlite',
    transaction(keys, decide) {
      // IMMEDIATE takes the lock before the first read: no other process decides between a read and its write.
      database.exec('BEGIN IMMEDIATE');
      try {
        const texts = keys.map((key) => (read.get(key) as { text: string } | undefined | null)?.text);
        const nowMs = clock.now();
        for (const { key, text, expiresAtMs } of decide(texts, nowMs)) {
          if (text === undefined) remove.run(key);
          else write.run(key, text, expiresAtMs);
          sweep.run(nowMs, MAX_SWEPT);
        }
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error; // the limiter does what its onStoreError says
      }
    },
  });
}
