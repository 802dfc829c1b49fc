import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { describeStore } from '@sluice/core/testing';
import { openDatabase, type OpenDatabase } from '../src/open-database.ts';
import { sqliteStore } from '../src/sqlite-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
let database: OpenDatabase;
beforeAll(async () => {
  database = await openDatabase(join(folder, 'limits.db'));
});
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

describeStore('in SQLite', (clock) => sqliteStore(database, { clock }));
