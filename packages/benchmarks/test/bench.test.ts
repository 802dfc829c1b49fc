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
  ask(what: 'refusals', options: { key: string; times: number }): Promise<boolean[]>;
  ask(what: 'close'): Promise<unknown>;
  end(): Promise<void>;
}
const untyped: string = '../src/processes/worker.mjs';
// In a process of its own, and without types: what is measured is what is built, as users have it.
const { Worker, shareProcesses, endShared } = (await import(untyped)) as {
  Worker: new (file: string, how: { core: number }) => Worker;
  shareProcesses(): void;
  endShared(): Promise<void>;
};

const bench = fileURLToPath(new URL('../src/bench.mjs', import.meta.url));

const LIMIT = 3;

async function refusals(file: string, settings: object): Promise<boolean[]> {
  const worker = new Worker(file, { core: 0 });
  await worker.ask('open', { ...settings, shape: 'many', limit: LIMIT });
  const seen = await worker.ask('refusals', { key: 'a', times: LIMIT + 2 });
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
    const run = spawnSync(process.execPath, [bench, '--trial', '--out', folder], { encoding: 'utf8' });
    said = run.stdout;
    if (run.status !== 0) throw new Error(run.stderr);
  }, 300_000);
  afterAll(async () => {
    await endShared();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(['memory', 'redis', 'http', 'scale'])('measures every scene of %s', (group) => {
    const rows = rowsOf(group);

    expect(rows.length).toBeGreaterThan(0);
    for (const { figures } of rows) {
      for (const name of ['perSecond', 'cpuUs']) {
        expect(figures[name]?.median).toBeGreaterThan(0);
      }
    }
  });

  it.each(['memory', 'redis'])('admits all but in the shape that is refused: %s', (group) => {
    const shares = rowsOf(group).map(({ shape, figures }) => [shape === 'refused', figures['refusedShare']?.median]);

    expect(shares.filter(([isRefused, share]) => (isRefused === true) !== Number(share) > 0)).toEqual([]);
  });

  it.each([
    ['memory', 'in-memory.mjs'],
    ['redis', 'in-redis.mjs'],
  ])('measures what refuses once a limit of three is reached, and not before: %s', async (group, file) => {
    const names = [...new Set(rowsOf(group).map(({ name }) => name))];

    const seen: [string, boolean[]][] = [];
    for (const name of names) {
      await redis.admin.flushall();
      seen.push([name, await refusals(file, { name, urls: [redis.server.url] })]);
    }

    expect(seen).toEqual(names.map((name) => [name, [false, false, false, true, true]]));
  });

  it('has every request over HTTP answered with 200', () => {
    expect(rowsOf('http').filter(({ figures }) => figures['okShare']?.median !== 1)).toEqual([]);
  });

  it('measures ourselves, a peer and the floor with every framework and store', () => {
    const seen = new Set(rowsOf('http').map(({ framework, store, kind }) => [framework, store, kind].join(' ')));

    for (const framework of ['express', 'fastify', 'koa', 'nestjs']) {
      for (const row of ['none floor', 'memory ours', 'memory peer', 'redis ours', 'redis peer']) {
        expect(seen).toContain(`${framework} ${row}`);
      }
    }
  });

  it('says of each goal what was measured, what was wanted and the best peer', () => {
    const lines = said.split('\n').filter((line) => line.includes('memory, synchronous, one key'));

    expect(lines).toEqual([expect.stringMatching(/\| (aim|reached|MISSED) +\| [\d.]+ [@\w-]+/)]);
  });
});
