import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Store } from '../../src/stores/store.ts';
import { transactionStore } from '../../src/stores/transaction.ts';
import { describeStore } from '../../src/testing/index.ts';

/** What these tests use of `node:sqlite`, which Node 20 does not have. */
interface Database {
  exec(sql: string): void;
  prepare(sql: string): {
    get(...values: readonly unknown[]): { readonly text: string } | undefined;
    run(...values: readonly unknown[]): unknown;
  };
}
type Sqlite = { readonly DatabaseSync: new (path: string) => Database } | undefined;

const sqlite = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as Sqlite;

/** The example of `transactionStore`. */
function sqliteStore(database: Database): Store {
  database.exec('CREATE TABLE sluice (key TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL)');
  const read = database.prepare('SELECT text FROM sluice WHERE key = ?');
  const remove = database.prepare('DELETE FROM sluice WHERE key = ?');
  const write = database.prepare('INSERT OR REPLACE INTO sluice (key, text, expires_at) VALUES (?, ?, ?)');
  return transactionStore({
    source: 'sqlite',
    transaction(keys, decide) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const texts = keys.map((key) => read.get(key)?.text);
        for (const { key, text, expiresAtMs } of decide(texts, Date.now())) {
          if (text === undefined) remove.run(key);
          else write.run(key, text, expiresAtMs);
        }
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  });
}

if (sqlite !== undefined) describeStore('in SQLite', () => sqliteStore(new sqlite.DatabaseSync(':memory:')));

describe('a database that fails', () => {
  it('in the middle is rolled back, and is used again', () => {
    const statements: string[] = [];
    let isFull = true;
    const store = sqliteStore({
      exec: (sql) => void statements.push(sql),
      prepare: () => ({
        get: () => undefined,
        run: () => {
          if (isFull) throw new Error('database or disk is full');
        },
      }),
    });
    const take = (): unknown =>
      store.perform('take', [{ key: 'key', policy: fixedWindow({ limit: 5, window: '1m' }), cost: 1 }]);

    expect(take).toThrow(expect.objectContaining({ code: 'SLUICE_STORE_FAILED' }));
    isFull = false;
    take();

    expect(statements.slice(1)).toEqual(['BEGIN IMMEDIATE', 'ROLLBACK', 'BEGIN IMMEDIATE', 'COMMIT']);
  });
});
