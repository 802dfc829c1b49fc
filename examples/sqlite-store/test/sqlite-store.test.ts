import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeStore } from '@sluice/old-testing';
import { openDatabase, type OpenDatabase } from '../src/open-database.ts';
import { sqliteStore } from '../src/sqlite-store.ts';

let folder: string;
let database: OpenDatabase;

describeStore('in SQLite', {
  source: 'remote',
  create: (clock) => sqliteStore(database, { clock }),
  async setUp() {
    folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
    database = await openDatabase(join(folder, 'limits.db'));
  },
  tearDown() {
    database.close();
    rmSync(folder, { recursive: true });
    return Promise.resolve();
  },
});
