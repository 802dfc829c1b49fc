import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

it('the file of the page is built from app/', () => {
  const script = fileURLToPath(new URL('../scripts/build-app.mjs', import.meta.url));

  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });

  expect([status, stderr]).toEqual([0, '']);
});
