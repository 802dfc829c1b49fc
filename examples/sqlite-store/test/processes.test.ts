import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ExampleProcess } from '@sluice/testkit';
import { expectLimited } from '@sluice/core/testing';

const main = new URL('../dist/main.js', import.meta.url);
const driver = process.getBuiltinModule('node:sqlite') === undefined ? 'node-sqlite3-wasm' : 'node:sqlite';

let folder: string;
const running: ExampleProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
});
afterEach(async () => {
  for (const example of running) example.stop();
  await Promise.all(running.splice(0).map((example) => example.ends()));
  rmSync(folder, { recursive: true });
});

async function start(): Promise<{ readonly url: string; readonly example: ExampleProcess }> {
  const example = new ExampleProcess(main, { LIMITS_FILE: join(folder, 'limits.db') });
  running.push(example);
  const url = `http://127.0.0.1:${String(await example.listens())}`;
  expect(example.stdout).toContain(`by ${driver}`);
  return { url, example };
}

it('keeps what is used over a restart', async () => {
  const first = await start();
  await expectLimited(first.url, { limit: 10 });
  first.example.stop();
  expect(await first.example.ends()).toBe(0);

  const second = await start();

  await expectLimited(second.url, { limit: 0 });
});

it('allows exactly the limit over several processes at once', async () => {
  const program = fileURLToPath(new URL('consume-all.mjs', import.meta.url));
  const run = promisify(execFile);

  const printed = await Promise.all(
    Array.from({ length: 3 }, () => run(process.execPath, [program, join(folder, 'limits.db')])),
  );

  expect(printed.reduce((sum, { stdout }) => sum + Number(stdout), 0)).toBe(300);
});
