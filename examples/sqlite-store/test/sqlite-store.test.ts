import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeStore, expectLimited } from '@sluice/core/testing';
import { useExample } from '@sluice/testkit';
import { openDatabase, type OpenDatabase } from '../src/open-database.ts';
import { sqliteStore } from '../src/sqlite-store.ts';

const main = new URL('../dist/main.js', import.meta.url);
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

it('keeps what is used over a restart', async () => {
  const env = { LIMITS_FILE: join(folder, 'kept.db') };

  await useExample(main, (url) => expectLimited(url, { limit: 10 }), env);
  await useExample(main, (url) => expectLimited(url, { limit: 0 }), env);
});

it('allows exactly the limit over several processes at once', async () => {
  const program = fileURLToPath(new URL('consume-all.mjs', import.meta.url));
  const file = join(folder, 'shared.db');

  const printed = await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, [program, file])));

  expect(printed.reduce((sum, { stdout }) => sum + Number(stdout), 0)).toBe(300);
});
