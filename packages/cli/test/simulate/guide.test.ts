import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runHere } from '../sluice.ts';
import { combinedLog, randomNumbers, START_MS, type LoggedRequest } from './simulated.ts';

const GUIDE = fileURLToPath(new URL('../../../../docs/guides/choosing-a-limit.md', import.meta.url));

/** The log of a day, which the guide is about: many clients, an office behind one address, and a scraper. */
function day(): string {
  const random = randomNumbers(11);
  const requests: LoggedRequest[] = [];
  const pages = ['/', '/search?q=shoes', '/cart', '/articles/7', '/static/site.css'];
  const page = (): string => pages[Math.floor(random() * pages.length)] ?? '/';
  for (let client = 0; client < 1500; client++) {
    const atMs = START_MS + Math.floor(random() * 80_000) * 1000;
    const agent = ['Firefox/127', 'Chrome/126', 'Safari/17'][client % 3] ?? '';
    const count = 1 + Math.floor(random() ** 3 * 24);
    for (let i = 0; i < count; i++) {
      requests.push({
        address: `10.1.${String(client >> 8)}.${String(client & 255)}`,
        atMs: atMs + i * 4000,
        target: page(),
        agent,
      });
    }
  }
  for (let i = 0; i < 900; i++) {
    const agent = `${['Firefox', 'Chrome', 'Safari', 'Edge'][i % 4] ?? ''}/${String(100 + (i % 7))}`;
    requests.push({ address: '198.51.100.20', atMs: START_MS + 32_400_000 + i * 900, target: page(), agent });
  }
  for (let i = 0; i < 3000; i++) {
    requests.push({
      address: '192.0.2.66',
      atMs: START_MS + 7_200_000 + i * 200,
      target: `/articles/${String(i)}`,
      agent: 'python-requests/2.32',
      status: i % 9 === 0 ? 404 : 200,
    });
  }
  return combinedLog(requests.sort((one, other) => one.atMs - other.atMs));
}

const text = readFileSync(GUIDE, 'utf8');
const shown = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => block);
const blocks = shown.flatMap((block) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((one) => {
      const [command = '', ...printed] = one.trimEnd().split('\n');
      return { command, printed };
    }),
);

describe('the guide to choosing a limit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-guide-'));
  beforeAll(() => {
    writeFileSync(join(folder, 'access.log'), day());
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('has commands', () => {
    expect(shown.length).toBeGreaterThan(1);
  });

  it.each(blocks)('$command', async ({ command, printed }) => {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    const args = words.slice(1).map((word) => (word === 'access.log' ? join(folder, word) : word));

    const { out, err } = await runHere(args);

    const lines = `${out}\n${err}`.trimEnd().split('\n');
    expect(matches(lines, printed) ? '' : lines.join('\n')).toBe('');
  });
});

/** Whether these are the lines of the guide, in which `...` stands for any lines. */
function matches(lines: readonly string[], [expected, ...further]: readonly string[]): boolean {
  if (expected === undefined) return lines.length === 0;
  if (expected === '...') return lines.some((_, i) => matches(lines.slice(i), further)) || further.length === 0;
  return lines[0] === expected && matches(lines.slice(1), further);
}
