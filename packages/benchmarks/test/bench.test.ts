import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';

interface Row {
  readonly name: string;
  readonly kind: string;
  readonly unavailable?: string;
  readonly figures: Record<string, { median: number; low: number; high: number }>;
  readonly [field: string]: unknown;
}

interface Worker {
  ask(what: 'open', settings: object): Promise<{ unavailable?: string }>;
  ask(what: 'denials', options: { key: string; times: number }): Promise<boolean[]>;
  ask(what: 'close'): Promise<unknown>;
  end(): Promise<void>;
}
const untyped: string = '../src/processes/worker.mjs';
// In a process of its own, and without types, to measure the built packages as users have them.
const { Worker, shareProcesses, endShared } = (await import(untyped)) as {
  Worker: new (file: string, how: { core: number }) => Worker;
  shareProcesses(): void;
  endShared(): Promise<void>;
};

const bench = fileURLToPath(new URL('../src/bench.mjs', import.meta.url));

const runBench = (...args: string[]) => spawnSync(process.execPath, [bench, ...args], { encoding: 'utf8' });

const LIMIT = 3;

async function denials(file: string, settings: object, times = LIMIT + 2): Promise<boolean[]> {
  const worker = new Worker(file, { core: 0 });
  await worker.ask('open', { ...settings, shape: 'many', limit: LIMIT });
  const seen = await worker.ask('denials', { key: 'a', times });
  await worker.end();
  return seen;
}

describe('a trial of the benchmarks', () => {
  const redis = useRedis();
  let folder = '';
  let said = '';
  const rowsOf = (group: string): Row[] => {
    const { rows } = JSON.parse(readFileSync(join(folder, `${group}.json`), 'utf8')) as { rows: Row[] };
    return rows.filter(({ unavailable }) => unavailable === undefined);
  };
  beforeAll(() => {
    shareProcesses();
    folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
    const run = runBench('--trial', '--out', folder);
    said = run.stdout;
    if (run.status !== 0) throw new Error(run.stderr);
  }, 300_000);
  afterAll(async () => {
    await endShared();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(['memory', 'redis', 'http', 'scale', 'service'])('measures every scene of %s', (group) => {
    const rows = rowsOf(group);

    expect(rows.length).toBeGreaterThan(0);
    for (const { figures } of rows) {
      for (const name of ['perSecond', 'cpuUs']) {
        expect(figures[name]?.median).toBeGreaterThan(0);
      }
    }
  });

  it.each(['memory', 'redis'])('allows everything except in the denied shape: %s', (group) => {
    const shares = rowsOf(group).map(({ shape, figures }) => [shape === 'denied', figures['deniedShare']?.median]);

    expect(shares.filter(([isDenied, share]) => (isDenied === true) !== Number(share) > 0)).toEqual([]);
  });

  it.each([
    ['memory', 'in-memory.mjs'],
    ['redis', 'in-redis.mjs'],
  ])('measures contenders that deny after a limit of three, and not before: %s', async (group, file) => {
    const names = [...new Set(rowsOf(group).map(({ name }) => name))];

    const seen: [string, boolean[]][] = [];
    for (const name of names) {
      await redis.admin.flushall();
      seen.push([name, await denials(file, { name, urls: [redis.server.url] })]);
    }

    expect(seen).toEqual(names.map((name) => [name, [false, false, false, true, true]]));
  });

  it('gets 200 for every request over HTTP', () => {
    expect(rowsOf('http').filter(({ figures }) => figures['okShare']?.median !== 1)).toEqual([]);
  });

  it('gets an answer for every call of the service, and denials where the limit is low', () => {
    const rows = rowsOf('service');

    expect(rows.filter(({ figures }) => figures['failedShare']?.median !== 0)).toEqual([]);
    const denied = rows.filter(({ figures }) => (figures['deniedShare']?.median ?? 0) > 0);
    expect(denied.map(({ scene, name }) => [scene, name])).toEqual([['rls-denied', 'sluice']]);
  });

  it('measures Sluice, a peer and the floor with every framework and store', () => {
    const seen = new Set(rowsOf('http').map(({ framework, store, kind }) => [framework, store, kind].join(' ')));

    for (const framework of ['express', 'fastify', 'koa', 'nestjs']) {
      for (const row of ['none floor', 'memory ours', 'memory peer', 'redis ours', 'redis peer']) {
        expect(seen).toContain(`${framework} ${row}`);
      }
    }
  });

  it('asks through a proxy, and has as many requests denied as it is told', () => {
    const denied = join(folder, 'denied');
    const run = runBench(
      '--trial',
      ...['--only', 'http', '--scene', 'express', '--proxy', '--denied', '50', '--out', denied],
    );
    const { rows } = JSON.parse(readFileSync(join(denied, 'http.json'), 'utf8')) as { rows: Row[] };

    expect(run.stdout).toContain('| express-rate-limit ');
    const shares = rows.map(({ kind, figures }) => [kind === 'floor', figures['okShare']?.median ?? 0] as const);
    expect(shares.filter(([isFloor, share]) => (isFloor ? share !== 1 : share === 0 || share === 1))).toEqual([]);
  }, 300_000);

  it('rejects an unknown scene', () => {
    const scene = runBench('--trial', '--only', 'memory', '--scene', 'hot');

    expect([scene.status, scene.stderr]).toEqual([2, expect.stringContaining('--scene takes hot-key, many-keys')]);
  }, 60_000);

  it('prints what was measured, as tables', () => {
    const lines = said.split('\n').filter((line) => line.startsWith('| sluice, synchronous '));

    expect(lines).toEqual([expect.stringMatching(/^\| sluice, synchronous +(\| [\d.]+ [Mk] +){3}\| /)]);
  });
});
