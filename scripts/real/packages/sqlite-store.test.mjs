// The store of examples/sqlite-store, with two libraries, under the test runner of Node.
import * as runner from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import Database from 'better-sqlite3';
import { describeStore } from '@sluice/core/testing';

const { sqliteStore } = await import(new URL('sqlite-store.mjs', import.meta.url)); // copied there from the example

for (const [name, database] of [
  ['node:sqlite', new DatabaseSync(':memory:')],
  ['better-sqlite3', new Database(':memory:')],
]) {
  describeStore(`in ${name}`, (clock) => sqliteStore(database, { clock }), runner);
}
