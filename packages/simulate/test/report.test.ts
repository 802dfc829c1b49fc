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

    const { suggestions, check, clients } = await simulated.report(one, '--check', other, '--max-clients', '0.1%');

    expect(clients).toBe(3003);
    expect(check?.requests).toBe((await simulated.report(other)).requests);
    const [, minute] = suggestions.windows;
    expect(minute).toMatchObject({ clients: 3 });
    expect(minute?.limit).toBeLessThan(90);
    for (const suggested of check?.suggestions ?? []) {
      expect(suggested.clientsShare).toBeLessThanOrEqual(0.001);
      expect(suggested.top.map(({ client }) => client).every((client) => ABUSERS.includes(client))).toBe(true);
    }
    expect(check?.suggestions[1]?.top.map(({ client }) => client).sort()).toEqual(ABUSERS);
    expect(check?.suggestions).toHaveLength(suggestions.windows.length + suggestions.buckets.length);
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

  it('keeps to --max-denied too', async () => {
    const log = simulated.file(halfMonth(4));

    const { suggestions, requests } = await simulated.report(log, '--max-clients', '100%', '--max-denied', '2%');

    for (const { denied, limit } of suggestions.windows) {
      expect(limit).toBeGreaterThan(1);
      expect(denied).toBeLessThanOrEqual(requests * 0.02);
    }
  });

  it('may deny all clients where only the requests are bounded', async () => {
    const log = simulated.file(combinedLog(burst(10, START_MS)));

    const { suggestions } = await simulated.report(log, '--max-clients', '100%', '--max-denied', '70%');

    expect(suggestions.windows.map(({ limit, denied }) => [limit, denied])).toEqual([
      [3, 7],
      [3, 7],
      [3, 7],
    ]);
  });

  it('keeps to the loss, and states it, for a client of millions of requests', () => {
    const peaks = new Peaks([{ text: '1h', ms: 3_600_000 }], undefined);
    const client = new Client('192.0.2.1', 0);
    const requests = 3_000_000;
    for (let i = 0; i < requests; i++) peaks.add(client, START_MS, true);
    peaks.fold(client);

    for (const share of [0, 0.1, 0.5, 0.9]) {
      const [{ limit, denied } = { limit: 0, denied: 0 }] = windowSuggestions(
        ...([peaks, { clients: 1, denied: share }, requests] as const),
      );
      expect(denied).toBe(requests - Math.min(limit, requests));
      expect(denied).toBeLessThanOrEqual(share * requests);
      expect(limit).toBeLessThan(requests * (1 - share) + 1024);
    }
  });

  it('of a bucket is the smallest burst for its rate, exactly', async () => {
    const log = simulated.file(halfMonth(5));
    const { suggestions } = await simulated.report(log, '--max-clients', '1%');

    const text = (capacity: number, refill: number, every: string): string =>
      `tokenBucket --capacity ${String(capacity)} --refill ${String(refill)} --every ${every}`;
    const policies = suggestions.buckets.flatMap(({ capacity, refill, every, max }) =>
      [capacity, capacity - 1, max, max - 1].map((burst_) => text(Math.max(burst_, 1), refill, every)),
    );
    const { candidates, clients } = await simulated.report(log, ...policies.flatMap((policy) => ['--policy', policy]));

    for (const [i, { capacity, clients: touched, max }] of suggestions.buckets.entries()) {
      expect(candidates[4 * i]?.clients).toBe(touched);
      expect(candidates[4 * i + 2]?.denied).toBe(0);
      if (capacity > 1) expect(candidates[4 * i + 1]?.clients).toBeGreaterThan(clients * 0.01);
      if (max > 1) expect(candidates[4 * i + 3]?.denied).toBeGreaterThan(0);
    }
  });
});

describe('stamps of whole seconds', () => {
  it('give the fewest and the most denials of the placements that are tried, and say that these are no bounds', async () => {
    // Ten requests in one second fit ten a second spread, and not five in 500 ms at once; two seconds may be pressed
    // together.
    const log = simulated.file(combinedLog([...burst(10, START_MS), ...burst(10, START_MS + 1000)]));

    const report = await simulated.report(
      log,
      ...['--policy', 'slidingLog --limit 10 --window 1s'],
      ...['--policy', 'tokenBucket --capacity 5 --refill 10 --every 1s'],
    );

    const { out } = await simulated.run(log, '--policy', 'tokenBucket --capacity 5 --refill 10 --every 1s');

    expect(out).toContain('requests denied  10 of 20 (50%); between 0 and 15');
    expect(out).toContain('of three placements in them that were tried, and no bounds');
    expect(report.wholeSeconds).toBe(true);
    expect(report.candidates).toMatchObject([
      { denied: 0, best: { denied: 0, clients: 0 }, worst: { denied: 10, clients: 1 } },
      { denied: 10, best: { denied: 0, clients: 0 }, worst: { denied: 15, clients: 1 } },
    ]);
  });

  it('are told from stamps with a part of a second, which have no such bounds', async () => {
    const log = simulated.file('{"time":"2026-05-17T00:00:00.250Z","ip":"203.0.113.7"}\n');

    const report = await simulated.report(log, '--policy', 'fixedWindow --limit 1 --window 1s');

    expect(report.wholeSeconds).toBe(false);
    expect(first(report)).toMatchObject({ best: null, worst: null });
  });
});

describe('the report', () => {
  it('marks an address that many user agents share', async () => {
    const agents = ['a', 'b', 'c', 'd', 'e'].flatMap((agent) => burst(4, START_MS, { agent }));
    const log = simulated.file(combinedLog([...agents, ...burst(20, START_MS, { address: '198.51.100.2' })]));

    const report = await simulated.report(log, '--policy', 'fixedWindow --limit 1 --window 1m');
    const { out } = await simulated.run(log, '--policy', 'fixedWindow --limit 1 --window 1m');

    const shared = new Map(first(report).top.map((client) => [client.client, client.shared]));
    expect(shared.get('203.0.113.7')).toMatchObject({ userAgents: 5 });
    expect(shared.get('198.51.100.2')).toBeNull();
    expect(out).toContain('NAT? 5 agents');
  });

  it('does not mark what is no address: users and routes have many user agents', async () => {
    const agents = ['a', 'b', 'c', 'd', 'e'].flatMap((agent) => burst(4, START_MS, { agent }));
    const shared = async (key: string): Promise<unknown> =>
      first(
        await simulated.report(
          simulated.file(combinedLog(agents)),
          '--key',
          key,
          '--policy',
          'fixedWindow --limit 1 --window 1m',
        ),
      ).top[0]?.shared;

    expect(await shared('route')).toBeNull();
    expect(await shared('all')).toBeNull();
    expect(await shared('ip/56,route')).toMatchObject({ userAgents: 5 });
  });

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

  it('plays clients that come back after Retry-After', async () => {
    const log = simulated.file(combinedLog([...burst(3, START_MS), { atMs: START_MS + 90_000 }]));

    const report = await simulated.report(log, '--retry', '--policy', 'fixedWindow --limit 1 --window 20s');

    // One of the two comes back after 20 s and is allowed, the other one after 40 s.
    expect(first(report).retry).toMatchObject({
      deniedAtFirst: 2,
      recovered: 2,
      retries: 3,
      givenUp: 0,
      meanWaitMs: 30_000,
      longestWaitMs: 40_000,
    });
    expect(first(report).denied).toBe(2);
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

  it('fails where a candidate exceeds a bound, on the log or on that of --check', async () => {
    const [calm, wild] = [
      simulated.file(combinedLog(burst(10, START_MS))),
      simulated.file(combinedLog(burst(40, START_MS))),
    ];
    const policy = ['--policy', 'fixedWindow --limit 20 --window 1m'];

    expect((await simulated.run(calm, ...policy, '--max-clients', '0', '--max-denied', '0')).code).toBe(0);
    const denied = await simulated.run(wild, ...policy, '--max-denied', '49.9%');
    expect(denied).toMatchObject({ code: 1, err: 'sluice: 1 of the bounds is exceeded' });
    expect(denied.out).toContain(
      'over the bound: fixedWindow 20 per 1m denies 50% of the requests, more than 49.9% (--max-denied)',
    );
    expect((await simulated.run(wild, ...policy, '--max-denied', '50%')).code).toBe(0);
    const checked = await simulated.run(calm, ...policy, '--check', wild, '--max-clients', '10%');
    expect(checked.code).toBe(1);
    expect(checked.out).toContain('on the log of --check, more than 10% (--max-clients)');
  });

  it.each(['--html', '--decisions'])('is not written over a log by %s', async (flag) => {
    const content = combinedLog(burst(3, START_MS));
    const log = simulated.file(content, `log-for${flag}`);

    const { code, err, out } = await simulated.run(log, flag, log);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`${flag} ${log} is one of the logs, which it would replace`);
    expect(simulated.read(`log-for${flag}`)).toBe(content);
  });

  it.each([
    ['another output', ['--html', 'same', '--decisions', 'same'], '--decisions', '--html'],
    ['the limits', ['--limits', 'limits.yaml', '--html', 'limits.yaml'], '--html', 'the file of --limits'],
    ['the routes', ['--routes', 'routes', '--decisions', 'routes'], '--decisions', 'the file of --routes'],
  ])('is not written over %s', async (_what, args, flag, what) => {
    const paths = args.map((arg) => (arg.startsWith('--') ? arg : simulated.path(arg)));

    expect(await simulated.run(simulated.file(''), ...paths)).toMatchObject({
      code: 2,
      err: `sluice: ${flag} ${paths[1] ?? ''} is ${what}, which it would replace; write the name of another file`,
    });
  });

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

  it.each(['--key', '--cost', '--html', '--max-clients', '--resort'])('takes %s once', async (flag) => {
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
    const [empty, log] = [simulated.file(''), simulated.file(combinedLog(burst(3, START_MS)))];
    const policy = ['--policy', 'fixedWindow --limit 5 --window 1m'];

    for (const logs of [[empty], [log, '--check', empty]]) {
      const { code, err } = await simulated.run(...logs, ...policy, '--max-denied', '1%');
      expect({ code, err }).toEqual({
        code: 1,
        err: `sluice: no requests in ${empty}: --max-denied says nothing about it`,
      });
    }
    expect((await simulated.run(log, '--check', empty, ...policy)).code).toBe(0);
  });

  it('of an empty log says that there are no requests', async () => {
    const { code, err, out } = await simulated.run(simulated.file('', 'empty'));

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^no requests in/);
  });
});
