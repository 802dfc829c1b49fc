import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

/** The guide docs/guides/side-by-side.md, run: the guard of the peer comes first. In a process of its own, which can load the peer. */
it('@nestjs/throttler on a store of Sluice, and @sluice/nestjs, are compared on the same requests', () => {
  const program = fileURLToPath(new URL('../children/nest.mjs', import.meta.url));

  const { stdout, stderr } = spawnSync('node', [program], { encoding: 'utf8' });

  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({ statuses: [200, 200, 429], decided: [true, false] });
});
