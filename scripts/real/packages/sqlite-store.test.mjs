// The store in SQLite, with two libraries, under the test runner of Node.
import * as runner from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import Database from 'better-sqlite3';
import { sqliteStore } from '@sluice/core/sqlite';
import { describeStore } from '@sluice/core/testing';

for (const [name, database] of [
  ['node:sqlite', new DatabaseSync(':memory:')],
  ['better-sqlite3', new Database(':memory:')],
]) {
  describeStore(`in ${name}`, () => sqliteStore(database, { prefix: 'shop' }), runner);
}
