import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { build } from 'esbuild';
import { fixedWindow } from '../../src/index.ts';
import { useWorld } from './use-policies.ts';

const { redis, process: start } = useWorld();

const folder = mkdtempSync(join(tmpdir(), 'sluice-managed-'));
const script = join(folder, 'process.mjs');
const children: ChildProcess[] = [];

beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('children/process.ts', import.meta.url))],
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: script, logLevel: 'silent' },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function spawnReady(what: 'write' | 'hold'): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--no-warnings', script, redis.server.url, what], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess | undefined): Promise<void> {
  child?.kill('SIGKILL');
  if (child !== undefined) await once(child, 'exit');
}

describe('writers that are killed', () => {
  it('leave whole records, on which all agree, and the rest goes on', async () => {
    const reader = start();
    await reader.follow();
    const writers = [await spawnReady('write'), await spawnReady('write'), await spawnReady('write')];
    await until('they have written', async () => (await reader.policies.overrides('orders')).length === 7);
    await kill(writers[0]);
    const before = await reader.policies.get('orders');
    await until(
      'the others go on',
      async () => (await reader.policies.get('orders'))?.changedAtMs !== before?.changedAtMs,
    );
    await kill(writers[1]);
    await kill(writers[2]);

    const later = start();
    await Promise.all([reader.policies.list(), later.policies.list()]);

    expect(await later.policies.get('orders')).toMatchObject({ apps: expect.arrayContaining(['app-1']) });
    expect(await later.policies.overrides('orders')).not.toHaveLength(0);
    const [one, other] = [reader, later].map(({ follower }) => Object.fromEntries(follower.copy.entries()));
    expect(one).toEqual(other);
    expect([...later.follower.copy.entries()].filter(([, { problem }]) => problem !== undefined)).toEqual([]);
  });

  it('while they write back what was lost, leave the rest to others', async () => {
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const { policies, follower } = start();
    await policies.put('orders', policy);
    const record = { atMs: 1, life: 1, policy };
    const names = Array.from({ length: 3000 }, (_, n) => `orders:key:user-${String(n)}`);
    for (let i = 0; i < 3000; i += 250)
      await follower.feed.restore?.(names.slice(i, i + 250).map((name) => [name, record]));
    const holders = [await spawnReady('hold'), await spawnReady('hold'), await spawnReady('hold')];

    await redis.admin.flushall();
    await until('it has begun', async () => (await redis.admin.hlen('sluice:{#policies}:records')) > 0);
    await kill(holders[0]);
    await kill(holders[1]);

    await until('all is back', async () => (await redis.admin.hlen('sluice:{#policies}:records')) === 3001);
    expect(await start().policies.get('orders')).toMatchObject({ policy });
  });
});
