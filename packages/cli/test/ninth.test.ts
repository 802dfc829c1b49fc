import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { copyWithNinth } from './ninth/copied-workspace.ts';

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** As far as Jest says. */
interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const SUITES = ['laws', 'algorithms/registry'].map((name) => `test/${name}`);
const JEST = fileURLToPath(new URL('../../../node_modules/jest/bin/jest.js', import.meta.url));
const USE_NINTH = fileURLToPath(new URL('ninth/use-ninth.mjs', import.meta.url));

const copy = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-ninth-')));
beforeAll(() => {
  copyWithNinth(copy);
});
afterAll(() => {
  rmSync(copy, { recursive: true, force: true });
});

async function node(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd: join(copy, 'packages/old-core'),
    env: { ...process.env, ...env },
    timeout: 110_000,
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (out += text.toString()));
  child.stderr.on('data', (text: Buffer) => (err += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: out.trimEnd(), err: err.trimEnd() };
}

describe('a ninth algorithm that is a folder and a line', () => {
  it('passes vectors, laws, parity with its twin on Redis, and the checks of the registry', async () => {
    const report = join(copy, 'report.json');

    const { code, err } = await node(
      [
        ...['--disable-warning=ExperimentalWarning', '--experimental-vm-modules', JEST, '--runInBand'],
        ...['--testNamePattern', 'shiftedWindow', '--json', '--outputFile', report, '--', ...SUITES],
      ],
      { SLUICE_DEPTH: 'quick' },
    );

    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
    const passed = testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.some(({ status }) => status === 'passed') ? [name.slice(name.indexOf('/test/') + 6)] : [],
    );
    expect(passed.sort()).toEqual([
      'algorithms/registry.test.ts',
      'laws/changed-policy.test.ts',
      'laws/charge.test.ts',
      'laws/denial.test.ts',
      'laws/expiry.test.ts',
      'laws/heal.test.ts',
      'laws/kernel-contract.test.ts',
      'laws/parity.test.ts',
      'laws/peek.test.ts',
      'laws/refund.test.ts',
      'laws/retry.test.ts',
      'laws/time.test.ts',
      'laws/vectors.test.ts',
    ]);
  });

  describe('with a server', () => {
    const redis = useRedis();
    const sluice = (...args: readonly string[]): Promise<Ran> =>
      node([join(copy, 'packages/cli/dist/main.js'), ...args, '--redis', redis.server.url]);
    const written = 'shiftedWindow 5 per 1d, shift 6h';

    it('is put and printed by the command', async () => {
      const put = await sluice(
        'policy',
        'put',
        'orders',
        'shiftedWindow',
        ...['--limit', '5', '--window', '1d', '--shift', '6h'],
        '--app',
        'shop',
      );
      const list = await sluice('policy', 'list');
      const help = await sluice('policy', 'put', '--help');

      expect(put.out).toContain(written);
      expect(list.out.split(written)).toHaveLength(2);
      expect(help.out).toMatch(/--shift <duration>\s+shiftedWindow: how long after/);
    });

    it('is counted and inspected, and the errors name it', async () => {
      const used = await node([USE_NINTH, join(copy, 'packages'), redis.server.url]);
      const alone = await sluice('inspect', 'ann', '--json');
      const known = await sluice('inspect', 'ann', '--policy', 'shiftedWindow --limit 5 --window 1d --shift 6h');

      expect(used.err).toBe('');
      const told = JSON.parse(used.out) as Readonly<Record<'decision' | 'split' | 'unknown', unknown>>;
      expect(told.decision).toMatchObject({ allowed: true, limit: 5, remaining: 3 });
      expect(told.split).toMatch(
        /shiftedWindow\): its windows begin between those of the clock \[SLUICE_POLICY_INVALID\]$/,
      );
      expect(told.unknown).toMatch(
        /made by .*concurrency or shiftedWindow, such as .*concurrency and shiftedWindow \[/,
      );
      expect(JSON.parse(alone.out)).toMatchObject({
        keys: [{ limiter: 'orders', policies: [{ algorithm: 'shiftedWindow', used: 2, limit: null }], problem: null }],
      });
      expect(known.out).toMatch(new RegExp(`orders +${written} +2 +5 +3 `));
    });
  });
});
