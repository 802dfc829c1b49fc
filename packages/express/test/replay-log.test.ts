import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const script = fileURLToPath(new URL('../../../scripts/faults/replay-log.mjs', import.meta.url));

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function replay(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const MONDAY_MS = Date.UTC(2015, 4, 18, 10, 5, 3);
const two = (value: number): string => String(value).padStart(2, '0');

function line(address: string, second: number, request: string): string {
  const at = new Date(MONDAY_MS + second * 1000);
  const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map(two).join(':');
  return `${address} - - [${two(at.getUTCDate())}/May/2015:${time} +0000] "${request} HTTP/1.1" 200 512 "-" "test/1.0 (\\"quoted\\")"`;
}

const many = (count: number, make: (i: number) => string): string[] => Array.from({ length: count }, (_, i) => make(i));

/** A client that stays within every limit, one that hurries, and one that changes its address within its network. */
const log = [
  ...many(60, (i) => line('192.0.2.1', i * 10, `GET /blog/${String(i)}?page=1`)),
  ...many(120, (i) => line('198.51.100.7', Math.floor(i / 4), `${i % 3 === 0 ? 'HEAD' : 'GET'} /presentations/%E8%F1`)),
  ...many(80, (i) => line(`2001:db8:1:2:${String(i)}::1`, Math.floor(i / 2), 'POST /search')),
  'not a line of a log',
  line('192.0.2.9', 5, 'NONSENSE /'),
];

describe('scripts/faults/replay-log.mjs', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  const written = (name: string, lines: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  };

  it('denies the same requests of a log on memory and on Redis, and prints how many', async () => {
    const { code, stdout, stderr } = await replay(written('access.log', log));

    const counts = [...stdout.matchAll(/^([a-z -]+?) +(memory|Redis) +(\d+) +(\d+) +(\d+)$/gm)].map(
      ([, policy, store, offered, allowed, denied]) => [
        policy,
        store,
        Number(offered),
        Number(allowed),
        Number(denied),
      ],
    );
    expect(stderr).toBe('');
    expect(stdout).toContain(
      '260 requests from 2015-05-18T10:05:03.000Z to 2015-05-18T10:14:53.000Z; 2 lines passed over',
    );
    expect(stdout).toContain(
      'Both denied the same requests, with the same status and header fields in every response.',
    );
    expect(code).toBe(0);
    // The hurried clients get 15 at once and one more every 3 seconds, 24 in 29 seconds and 28 in 39.
    expect(counts.filter(([policy]) => policy === 'all together')).toEqual([
      ['all together', 'memory', 260, 112, 148],
      ['all together', 'Redis', 260, 112, 148],
    ]);
  });

  it('says what it needs when it is given no log, or none that can be read', async () => {
    const outcomes = [
      await replay(),
      await replay(join(folder, 'missing.log')),
      await replay(written('empty.log', ['nothing'])),
    ];

    expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(outcomes.map(({ stderr }) => stderr)).toEqual([
      expect.stringContaining('usage: node scripts/faults/replay-log.mjs'),
      expect.stringContaining('missing.log cannot be read'),
      expect.stringContaining('has no line in the Apache combined format'),
    ]);
  });
});
