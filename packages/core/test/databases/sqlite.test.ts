import * as jest from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import { sqliteStore } from '../../src/sqlite/index.ts';
import { describeStore } from '../../src/testing/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const database = new sqlite.Database(join(folder, 'limits.db'));
database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
jest.afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});
describeStore('in SQLite', () => sqliteStore(database, { prefix: 'shop' }), jest);
