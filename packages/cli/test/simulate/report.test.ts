import { symlinkSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { burst, combinedLog, randomNumbers, START_MS, useSimulate, type LoggedRequest } from './simulated.ts';

const simulated = useSimulate();

/** Clients with bursts of many sizes. */
function randomLog(seed: number): string {
  const random = randomNumbers(seed);
  const requests: LoggedRequest[] = [];
  for (let client = 0; client < 200; client++) {
    let atMs = START_MS + Math.floor(random() * 3600) * 1000;
    for (let i = 0; i < 6; i++, atMs += Math.floor(random() * 90) * 1000) {
      const rest = { address: `10.0.0.${String(client)}`, status: random() < 0.3 ? 500 : 200 };
      requests.push(...burst(1 + Math.floor(random() ** 3 * 20), atMs, rest));
    }
  }
  return combinedLog(requests.sort((one, other) => one.atMs - other.atMs));
}

describe('a suggested limit', () => {
  it.each([1, 2, 3])('denies exactly what is said, and no smaller one keeps to the loss (seed %i)', async (seed) => {
    const log = simulated.file(randomLog(seed));
    const { suggestions } = await simulated.report(log, '--max-clients', '5%');
    const smaller = suggestions.map(({ policy, limit }) =>
      policy.replace(`--limit ${String(limit)}`, `--limit ${String(limit - 1)}`),
    );

    const all = [...suggestions.map(({ policy }) => policy), ...smaller];
    const { candidates } = await simulated.report(log, ...all.flatMap((policy) => ['--policy', policy]));

    const own = candidates.slice(0, suggestions.length);
    expect(own.map(({ denied, deniedSucceeded, clients }) => ({ denied, deniedSucceeded, clients }))).toEqual(
      suggestions.map(({ denied, deniedSucceeded, clients }) => ({ denied, deniedSucceeded, clients })),
    );
    expect(own.every(({ clientsShare }) => clientsShare <= 0.05)).toBe(true);
    expect(candidates.slice(own.length).every(({ clientsShare }) => clientsShare > 0.05)).toBe(true);
  });
});

describe('a candidate', () => {
  it('of several limits is decided together: a denial of one takes nothing of the other', async () => {
    const log = simulated.file(combinedLog([...burst(5, START_MS), ...burst(5, START_MS, { address: '192.0.2.1' })]));
    const both = 'fixedWindow --limit 2 --window 1h + fixedWindow --limit 4 --window 1h --key all';

    const { candidates } = await simulated.report(
      log,
      '--policy',
      both,
      '--policy',
      'fixedWindow --limit 1 --window 1h --key user',
    );

    expect(candidates[0]).toMatchObject({
      denied: 6,
      clients: 2,
      policy: 'fixedWindow 2 per 1h and fixedWindow 4 per 1h by all',
    });
    expect(candidates[1]).toMatchObject({ denied: 0, withoutKey: [{ key: 'user', requests: 10 }] });
  });

  it('tells whom it denies, and how long it delays', async () => {
    const agents = ['a', 'b'].flatMap((agent) => burst(3, START_MS, { agent, target: `/${agent}` }));
    const log = simulated.file(combinedLog(agents));
    const paced = 'leakyBucket --limit 60 --window 1m --max-delay 2s';

    const { candidates } = await simulated.report(
      log,
      '--policy',
      'fixedWindow --limit 2 --window 1m',
      '--policy',
      paced,
    );
    const { out } = await simulated.run(log, '--policy', paced);

    expect(candidates[0]?.top).toEqual([
      expect.objectContaining({
        client: '203.0.113.7',
        requests: 6,
        denied: 4,
        lastPath: '/b',
        userAgents: ['a', 'b'],
      }),
    ]);
    expect(candidates[1]).toMatchObject({ denied: 3, delayed: 2, meanDelayMs: 1500, maxDelayMs: 2000 });
    expect(out).toContain('  delayed          2 requests, by 1 500 ms on average, 2 000 ms at most');
    expect(out).toContain('note: timestamps are whole seconds');
  });

  it('fails the command if it exceeds --max-clients; a log without requests says nothing', async () => {
    const log = simulated.file(combinedLog(burst(5, START_MS)));
    const flags = ['--policy', 'fixedWindow --limit 1 --window 1m', '--max-clients', '10%'];

    const over = await simulated.run(log, ...flags);
    const empty = await simulated.run(simulated.file(''), ...flags);

    expect([over.code, over.err]).toEqual([1, 'sluice: --max-clients is exceeded']);
    expect(over.out).toMatch(
      /over the bound: fixedWindow 1 per 1m denies 100% of the clients, more than 10% \(--max-clients\)$/,
    );
    expect([empty.code, empty.out]).toEqual([1, expect.stringMatching(/^no requests in /)]);
    expect((await simulated.run(log, '--policy', 'fixedWindow --limit 5 --window 1m', '--max-clients', '0')).code).toBe(
      0,
    );
  });
});

describe('--max-keys', () => {
  it('bounds how many clients are held, however many come, and counts those that are forgotten', async () => {
    const clients = Array.from({ length: 300 }, (_, i) => ({
      atMs: START_MS + i * 10,
      address: `10.0.${String(i >> 8)}.${String(i & 255)}`,
    }));
    const log = simulated.file(combinedLog([...clients, ...burst(5, START_MS + 4000, { address: 'x'.repeat(5000) })]));

    const report = await simulated.report(log, '--max-keys', '20', '--policy', 'fixedWindow --limit 2 --window 1m');

    expect(report).toMatchObject({ clients: 301, requests: 305 });
    expect(report.forgotten).toBeGreaterThan(270);
    expect(report.candidates[0]).toMatchObject({ denied: 3, clients: 1 });
    expect(report.candidates[0]?.top[0]?.client).toHaveLength(23);
  });
});

describe('--html', () => {
  it('writes one file that holds all it needs, with the limits of the candidates on its slider', async () => {
    const attack = '</script><img src=x>';
    const log = simulated.file(
      combinedLog([...burst(99, START_MS), ...burst(1, START_MS, { agent: attack, target: '/<b>' })]),
    );
    const html = simulated.file('', 'report.html');

    await simulated.run(log, '--html', html, '--policy', 'fixedWindow --limit 73 --window 5m');

    const text = simulated.read(html);
    expect(text.match(/<\/script>/g)).toHaveLength(2);
    expect(text).not.toMatch(/(?:src|href)="(?!data:)/);
    const [, data = ''] = /id="data">(.*?)<\/script>/s.exec(text) ?? [];
    const { text: report, windows } = JSON.parse(data) as {
      text: string;
      windows: { window: string; prices: { limit: number; denied: number }[] }[];
    };
    expect(report).toContain('fixedWindow 73 per 5m');
    expect(windows.map(({ window }) => window)).toEqual(['1s', '1m', '5m', '1h']);
    expect(windows[2]?.prices.find(({ limit }) => limit === 73)?.denied).toBe(27);
  });

  it('is not written over a log, through a symbolic link, or if its folder is missing', async () => {
    const log = simulated.file(combinedLog(burst(1, START_MS)));
    const link = `${log}-link`;
    symlinkSync(log, link);

    for (const [path, why] of [
      [log, 'it is one of the logs, which it would replace'],
      [link, 'it is a symbolic link; name the file'],
      [`${log}/x`, 'ENOTDIR'],
    ] as const) {
      const { code, out, err } = await simulated.run(log, '--html', path);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`cannot write --html ${path}: ${why}`);
    }
    expect(simulated.read(log)).toContain('GET / HTTP/1.1');
  });
});
