import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { Peaks } from '../src/peaks/peaks.ts';
import { windowSuggestions } from '../src/peaks/suggestions.ts';
import { Client } from '../src/clients/client.ts';
import { burst, combinedLog, first, randomNumbers, START_MS, useSimulate, type LoggedRequest } from './simulated.ts';

const simulated = useSimulate();
const BUILT = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));

/** Half of a month of many clients and a few abusers; each half has other random numbers. */
function halfMonth(seed: number): string {
  const random = randomNumbers(seed);
  const requests: LoggedRequest[] = [];
  for (let client = 0; client < 3000; client++) {
    const address = `10.${String(client >> 8)}.${String(client & 255)}.1`;
    for (let visit = 0; visit < 1 + Math.floor(random() * 2); visit++) {
      const atMs = START_MS + Math.floor(random() * 15 * 86_400) * 1000;
      const pages = 1 + Math.floor(random() * 4);
      for (let page = 0; page < pages; page++)
        requests.push({ address, atMs: atMs + page * 7000, target: `/page/${String(page)}` });
    }
  }
  for (const abuser of ABUSERS) {
    for (let run = 0; run < 5; run++) {
      const atMs = START_MS + Math.floor(random() * 15 * 86_400) * 1000;
      for (let i = 0; i < 90; i++)
        requests.push({ address: abuser, atMs: atMs + i * 500, target: '/login', status: 401 });
    }
  }
  return combinedLog(requests.sort((one, other) => one.atMs - other.atMs));
}

const ABUSERS = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];

describe('a suggested limit', () => {
  it('finds known abusers in one half of a month, and loses no more than it promised in the other', async () => {
    const [one, other] = [simulated.file(halfMonth(1)), simulated.file(halfMonth(2))];

    const { suggestions, clients } = await simulated.report(one, '--max-clients', '0.1%');
    const policies = suggestions.windows.flatMap(({ policy }) => ['--policy', policy]);
    const { candidates } = await simulated.report(other, ...policies);

    expect(clients).toBe(3003);
    const [, minute] = suggestions.windows;
    expect(minute).toMatchObject({ clients: 3 });
    expect(minute?.limit).toBeLessThan(90);
    for (const suggested of candidates) {
      expect(suggested.clientsShare).toBeLessThanOrEqual(0.001);
      expect(suggested.top.map(({ client }) => client).every((client) => ABUSERS.includes(client))).toBe(true);
    }
    expect(candidates[1]?.top.map(({ client }) => client).sort()).toEqual(ABUSERS);
    expect(candidates).toHaveLength(suggestions.windows.length);
  });

  it('says exactly what the limit then does, and no smaller limit keeps to the loss', async () => {
    const log = simulated.file(halfMonth(3));
    const share = ['--max-clients', '1%'];
    const { suggestions } = await simulated.report(log, ...share);

    const policies = suggestions.windows.flatMap(({ policy, limit }) => [
      policy,
      policy.replace(`--limit ${String(limit)} `, `--limit ${String(limit - 1)} `),
    ]);
    const { candidates, clients } = await simulated.report(log, ...policies.flatMap((policy) => ['--policy', policy]));

    for (const [i, { clients: touched, denied, deniedSucceeded }] of suggestions.windows.entries()) {
      expect(candidates[2 * i]).toMatchObject({ clients: touched, denied, deniedSucceeded });
      expect(candidates[2 * i]?.clients).toBeLessThanOrEqual(clients * 0.01);
      expect(candidates[2 * i + 1]?.clients).toBeGreaterThan(clients * 0.01);
    }
  });

  it('states exactly what it denies, for a client of millions of requests', () => {
    const peaks = new Peaks([{ text: '1h', ms: 3_600_000 }], undefined);
    const client = new Client('192.0.2.1', 0);
    const other = new Client('192.0.2.2', 1);
    const requests = 3_000_000;
    for (let i = 0; i < requests; i++) peaks.add(client, START_MS, true);
    for (let i = 0; i < requests / 2; i++) peaks.add(other, START_MS, true);
    for (const one of [client, other]) peaks.fold(one);

    for (const [share, most] of [
      [0, requests],
      [0.5, requests / 2],
      [1, 1],
    ] as const) {
      const [{ limit, denied } = { limit: 0, denied: 0 }] = windowSuggestions(peaks, share);
      expect(denied).toBe(Math.max(requests - limit, 0) + Math.max(requests / 2 - limit, 0));
      expect(limit).toBeGreaterThanOrEqual(most);
      expect(limit).toBeLessThan(most + 1024);
    }
  });
});

describe('stamps of whole seconds', () => {
  it('are told: requests of one second count as if they had come at its beginning', async () => {
    const log = simulated.file(combinedLog([...burst(10, START_MS), ...burst(10, START_MS + 1000)]));
    const policies = ['slidingLog --limit 10 --window 1s', 'tokenBucket --capacity 5 --refill 10 --every 1s'];

    const report = await simulated.report(log, ...policies.flatMap((policy) => ['--policy', policy]));
    const { out } = await simulated.run(log, '--policy', policies[1] ?? '');

    expect(out).toContain('requests denied  10 of 20 (50%)\n');
    expect(out).toContain(
      'stamps are whole seconds: requests of one second count as if they had come at its beginning',
    );
    expect(report.wholeSeconds).toBe(true);
    expect(report.candidates).toMatchObject([{ denied: 0 }, { denied: 10 }]);
  });

  it('are told from stamps with a part of a second', async () => {
    const log = simulated.file('{"time":"2026-05-17T00:00:00.250Z","ip":"203.0.113.7"}\n');

    expect((await simulated.report(log)).wholeSeconds).toBe(false);
  });
});

describe('the report', () => {
  it('keeps the peaks of the windows that candidates have, with a limit for each', async () => {
    const minutes = Array.from({ length: 8 }, (_, i) => burst(3, START_MS + i * 60_000)).flat();

    const { peaks, suggestions } = await simulated.report(
      simulated.file(combinedLog(minutes)),
      ...['--policy', 'slidingWindow --limit 10 --window 5m'],
      ...['--policy', 'fixedWindow --limit 10 --window 10m --key all + fixedWindow --limit 2 --window 30s'],
    );

    expect(peaks).toMatchObject([
      { window: '1s', max: 3 },
      { window: '30s', max: 3 },
      { window: '1m', max: 3 },
      { window: '5m', max: 15 },
      { window: '1h', max: 24 },
    ]);
    expect(suggestions.windows[3]).toMatchObject({ policy: 'fixedWindow --limit 15 --window 5m', denied: 0 });
  });

  it('holds as many keys as it is told to, and counts those that it forgets', async () => {
    const requests = Array.from({ length: 3000 }, (_, i) => ({
      address: `10.0.${String(i >> 8)}.${String(i & 255)}`,
      atMs: START_MS + i * 1000,
    }));
    const log = simulated.file(combinedLog([...requests, ...burst(30, START_MS + 3_000_000)]));

    const { dropped, candidates, clients } = await simulated.report(
      log,
      '--max-keys',
      '200',
      '--policy',
      'fixedWindow --limit 10 --window 1h',
    );

    expect(dropped.keys).toBeGreaterThanOrEqual(2800);
    expect(dropped.live).toBe(dropped.keys);
    expect(clients).toBe(3001);
    expect(candidates[0]).toMatchObject({ denied: 20, clients: 1 });
  });

  it('holds no more keys when very many come in one second', async () => {
    const requests = Array.from({ length: 220_000 }, (_, i) => ({
      address: `10.${String(i >> 16)}.${String((i >> 8) & 255)}.${String(i & 255)}`,
      atMs: START_MS,
    }));
    const log = simulated.file(combinedLog(requests));

    const { dropped, requests: read, clients } = await simulated.report(log, '--max-keys', '100');

    expect({ read, clients }).toEqual({ read: 220_000, clients: 220_000 });
    expect(dropped.keys).toBeGreaterThan(90_000);
  });

  it('holds a short text for a long key, and still tells two of them apart', async () => {
    const long = 'a'.repeat(5000);
    const log = simulated.file(
      combinedLog(['b', 'c'].flatMap((end) => burst(3, START_MS, { target: `/${long}${end}` }))),
    );

    const report = await simulated.report(log, '--key', 'path', '--policy', 'fixedWindow --limit 1 --window 1m');

    expect(report.clients).toBe(2);
    expect(first(report).top.map(({ denied }) => denied)).toEqual([2, 2]);
    for (const { client } of first(report).top) expect(client).toMatch(/^\/a{199}…[0-9a-f]{32}$/);
  });

  it('of a client that is not forgotten is as without --max-keys, while its state counts', async () => {
    const others = Array.from({ length: 500 }, (_, i) => ({
      address: `10.0.${String(i >> 8)}.${String(i & 255)}`,
      atMs: START_MS + i * 1000,
    }));
    const own = Array.from({ length: 100 }, (_, i) => ({ atMs: START_MS + i * 5000 }));
    const log = simulated.file(combinedLog([...others, ...own].sort((one, other) => one.atMs - other.atMs)));
    const policy = ['--policy', 'slidingWindow --limit 5 --window 1m'];

    const [bounded, whole] = [
      await simulated.report(log, '--max-keys', '50', ...policy),
      await simulated.report(log, ...policy),
    ];

    expect(first(bounded).denied).toBe(first(whole).denied);
    expect(first(whole).denied).toBeGreaterThan(50);
  });

  it('writes one HTML file that holds all it needs', async () => {
    const html = simulated.path('report.html');
    const log = simulated.file(combinedLog(burst(5, START_MS, { agent: '</script><script>alert(1)</script>' })));

    await simulated.report(log, '--html', html, '--policy', 'fixedWindow --limit 1 --window 1m');

    const page = simulated.read('report.html');
    expect(page).toContain("default-src 'none'");
    expect(page).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="(?!data:)/);
    expect(page.match(/<\/script>/g)).toHaveLength(2);
    const data = /<script type="application\/json" id="data">([^]*?)<\/script>/.exec(page)?.[1] ?? '';
    expect(JSON.parse(data)).toMatchObject({
      report: { requests: 5 },
      curves: { levels: [1, 2, 3, 4, 5], windows: [{ denied: [4, 3, 2, 1, 0] }, {}, {}] },
    });
  });

  it('has the limits of the candidates on the slider of the HTML file', async () => {
    const html = simulated.path('report.html');
    const log = simulated.file(combinedLog(burst(200, START_MS)));

    await simulated.report(log, '--html', html, '--policy', 'fixedWindow --limit 75 --window 1m');

    const data = /id="data">([^]*?)<\/script>/.exec(simulated.read('report.html'))?.[1] ?? '';
    const { levels, windows } = (JSON.parse(data) as { curves: { levels: number[]; windows: { denied: number[] }[] } })
      .curves;
    expect(levels).toContain(75);
    expect(windows.map(({ denied }) => denied[levels.indexOf(75)])).toEqual([125, 125, 125]);
  });

  it('fails where a candidate exceeds the bound', async () => {
    const [calm, wild] = [
      simulated.file(combinedLog(burst(10, START_MS))),
      simulated.file(combinedLog([...burst(40, START_MS), ...burst(1, START_MS, { address: '198.51.100.2' })])),
    ];
    const policy = ['--policy', 'fixedWindow --limit 20 --window 1m'];

    expect((await simulated.run(calm, ...policy, '--max-clients', '0')).code).toBe(0);
    const denied = await simulated.run(wild, ...policy, '--max-clients', '49.9%');
    expect(denied).toMatchObject({ code: 1, err: 'sluice: --max-clients is exceeded' });
    expect(denied.out).toContain(
      'over the bound: fixedWindow 20 per 1m denies 50% of the clients, more than 49.9% (--max-clients)',
    );
    expect((await simulated.run(wild, ...policy, '--max-clients', '50%')).code).toBe(0);
  });

  it.each(['--html', '--decisions'])('is not written over a log by %s', async (flag) => {
    const content = combinedLog(burst(3, START_MS));
    const log = simulated.file(content, `log-for${flag}`);

    const { code, err, out } = await simulated.run(log, flag, log);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`${flag} ${log} is one of the logs, which it would replace`);
    expect(simulated.read(`log-for${flag}`)).toBe(content);
  });

  it.each([['another output', ['--html', 'same', '--decisions', 'same'], '--decisions', '--html']])(
    'is not written over %s',
    async (_what, args, flag, what) => {
      const paths = args.map((arg) => (arg.startsWith('--') ? arg : simulated.path(arg)));

      expect(await simulated.run(simulated.file(''), ...paths)).toMatchObject({
        code: 2,
        err: `sluice: ${flag} ${paths[1] ?? ''} is ${what}, which it would replace; write the name of another file`,
      });
    },
  );

  it.each(['--html', '--decisions'])('is not written through a symbolic link by %s', async (flag) => {
    const log = simulated.file(combinedLog(burst(3, START_MS)));
    const target = simulated.file('a file of the user', `target-of${flag}`);
    const [link, dangling] = [simulated.path(`link${flag}`), simulated.path(`dangling${flag}`)];
    symlinkSync(target, link);
    symlinkSync(simulated.path(`new-by${flag}`), dangling);

    for (const path of [link, dangling]) {
      const { code, err, out } = await simulated.run(log, flag, path);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/: it is a symbolic link to \S+; name that file$/);
    }
    expect(simulated.read(`target-of${flag}`)).toBe('a file of the user');
    expect(existsSync(simulated.path(`new-by${flag}`))).toBe(false);
  });

  it('stays as it was where a new one cannot be written as a whole', () => {
    const log = simulated.file(combinedLog(burst(3, START_MS)));
    const html = simulated.file('the report of yesterday', 'kept.html');
    // No file may be longer than 4 KiB, as on a disk that is full.
    const command = `ulimit -f 8; exec "$0" "$@" --html ${html}`;

    const child = spawnSync('sh', ['-c', command, process.execPath, BUILT, 'simulate', log], { encoding: 'utf8' });

    expect(child.stderr).toMatch(/^sluice: cannot write --html .*EFBIG/);
    expect(child.status).toBe(2);
    expect(simulated.read('kept.html')).toBe('the report of yesterday');
    expect(readdirSync(dirname(html)).filter((name) => name.includes('.part'))).toEqual([]);
  });

  it('that cannot be printed, or its decisions written, is an error that says so', async () => {
    const log = simulated.file(combinedLog(burst(3, START_MS)));
    const policy = ['--policy', 'fixedWindow --limit 1 --window 1m'];

    expect(await simulated.run(log, ...policy, '--decisions', '/dev/full')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^sluice: cannot write --decisions \/dev\/full: ENOSPC/),
    });
    const command = 'exec "$0" "$@" > /dev/full';
    const child = spawnSync('sh', ['-c', command, process.execPath, BUILT, 'simulate', log], { encoding: 'utf8' });
    expect(child.stderr).toMatch(/^sluice: cannot write the output: ENOSPC[^\n]*\n$/);
    expect(child.status).toBe(1);
  });

  it.each(['--key', '--html', '--max-clients', '--resort'])('takes %s once', async (flag) => {
    const { code, err } = await simulated.run(simulated.file(''), flag, '1', flag, '2');

    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${flag} is given twice, as "1" and "2"`),
    });
  });

  it('is not begun where its file cannot be written', async () => {
    // A log that is no log: its error would come first, if it were read.
    const { err } = await simulated.run(simulated.file('one\ntwo\n'), '--html', simulated.path(''));

    expect(err).toMatch(/^sluice: cannot write --html .*: it is a folder; name a file in it$/);
  });

  it('of an empty log fails where a bound is asked for, because the bound says nothing', async () => {
    const empty = simulated.file('');
    const policy = ['--policy', 'fixedWindow --limit 5 --window 1m'];

    const { code, err } = await simulated.run(empty, ...policy, '--max-clients', '1%');

    expect({ code, err }).toEqual({
      code: 1,
      err: `sluice: no requests in ${empty}: --max-clients says nothing about it`,
    });
    expect((await simulated.run(empty, ...policy)).code).toBe(0);
  });

  it('of an empty log says that there are no requests', async () => {
    const { code, err, out } = await simulated.run(simulated.file('', 'empty'));

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^no requests in/);
  });
});
