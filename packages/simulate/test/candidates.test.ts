import { describe, expect, it } from '@jest/globals';
import { fixedWindow, redisStore } from '@sluice/core';
import { createPolicies } from '@sluice/managed';
import { useCli } from '../../cli/test/sluice.ts';
import { burst, combinedLog, first, START_MS, useSimulate } from './simulated.ts';

const cli = useCli();
const simulated = useSimulate(() => ({ SLUICE_REDIS: cli.url }));
const [ONE, OTHER] = ['203.0.113.7', '198.51.100.2'];

describe('a candidate', () => {
  it('is tried beside others in one pass', async () => {
    const log = simulated.file(combinedLog([...burst(12, START_MS), ...burst(12, START_MS + 30_000)]));

    const { candidates } = await simulated.report(
      log,
      ...['--policy', 'fixedWindow --limit 10 --window 1m'],
      ...['--policy', 'tokenBucket --capacity 5 --refill 1 --every 10s'],
    );

    expect(candidates).toMatchObject([
      { policy: 'fixedWindow 10 per 1m', denied: 14 },
      { policy: 'tokenBucket 5, 1 per 10s', denied: 16 },
    ]);
  });

  it('of several limits is decided together: a denial of one takes nothing of the other', async () => {
    const log = simulated.file(
      combinedLog([...burst(5, START_MS, { address: ONE }), ...burst(5, START_MS + 1000, { address: OTHER })]),
    );

    const report = await simulated.report(
      log,
      '--policy',
      'fixedWindow --limit 2 --window 1m + fixedWindow --limit 4 --window 1m --key all',
    );

    // Had the denied requests of the first client counted for all, the second one would have got nothing.
    expect(first(report)).toMatchObject({
      policy: 'fixedWindow 2 per 1m and fixedWindow 4 per 1m by all',
      denied: 6,
      clients: 2,
    });
  });

  it('tells how many requests its own key leaves out', async () => {
    const log = simulated.file(combinedLog(burst(5, START_MS)));
    const policies = ['--policy', 'fixedWindow --limit 2 --window 1m + fixedWindow --limit 2 --window 1m --key user'];

    const report = await simulated.report(log, ...policies);
    const text = await simulated.run(log, ...policies);

    expect(first(report)).toMatchObject({ denied: 3, withoutKey: [{ key: 'user', requests: 5 }] });
    expect(text.out).toContain('without a key    5 of 5 (100%), which the limit by user leaves out');
  });

  it('tells of no request where its key is that of the command, which the report tells once', async () => {
    const log = simulated.file(combinedLog(burst(5, START_MS)));

    const report = await simulated.report(log, '--key', 'user', '--policy', 'fixedWindow --limit 2 --window 1m');

    expect(first(report)).toMatchObject({ denied: 0, withoutKey: [] });
    expect(report).toMatchObject({ withoutKey: 5 });
  });

  it.each([
    ['fixedWindow 60 1m', 'too many words'],
    ['fixedWindow 60', 'too many words, at "60"'],
    ['fixedWindow({ limit: 60, window: "1m" })', 'too many words'],
    ['fixedWindow --max 60 --window 1m', "unknown option '--max'"],
  ])('that is written in another way is answered with the right one: %s', async (policy, wrong) => {
    const log = simulated.file(combinedLog(burst(1, START_MS)));

    const { code, err } = await simulated.run(log, '--policy', policy);

    expect(code).toBe(2);
    expect(err).toContain(`${wrong}; write a kind and its options, as in 'fixedWindow --limit 100 --window 1m'`);
  });

  it('escalates', async () => {
    const log = simulated.file(combinedLog([...burst(5, START_MS), ...burst(5, START_MS + 20_000)]));

    const report = await simulated.report(log, '--policy', 'fixedWindow --limit 1 --window 10s --escalate 3,1m,1h');

    // The third denial begins the block, of which the second burst is denied as well.
    expect(first(report)).toMatchObject({ denied: 9, blocked: 7 });
  });

  it('paces', async () => {
    const log = simulated.file(combinedLog(burst(5, START_MS)));

    const report = await simulated.report(log, '--policy', 'leakyBucket --limit 60 --window 1m --max-delay 2s');

    expect(first(report)).toMatchObject({ denied: 2, delayed: 2, longestDelayMs: 2000 });
  });

  it('counts bytes, begun kilobytes, or routes', async () => {
    const log = simulated.file(
      combinedLog([
        ...burst(3, START_MS, { bytes: 1500 }),
        ...burst(2, START_MS + 1000, { target: '/search?q=1', bytes: 0 }),
      ]),
    );
    const denied = async (...flags: readonly string[]): Promise<number> =>
      first(await simulated.report(log, ...flags)).denied;

    expect(await denied('--cost', 'bytes', '--policy', 'fixedWindow --limit 3001 --window 1m')).toBe(2);
    expect(await denied('--cost', 'bytes/1024', '--policy', 'fixedWindow --limit 5 --window 1m')).toBe(2);
    expect(await denied('--policy', 'fixedWindow --limit 9 --window 1m --cost /search=5,1')).toBe(1);
  });

  it('is a managed policy of Redis', async () => {
    const store = redisStore(cli.storeUrl);
    const policies = createPolicies(store);
    await policies.put('orders', fixedWindow({ limit: 3, window: '1m' }), { apps: ['checkout'] });
    await policies.close();
    await store.close();

    const report = await simulated.report(
      simulated.file(combinedLog(burst(5, START_MS))),
      '--policy',
      'managed orders',
    );

    expect(first(report)).toMatchObject({ policy: 'fixedWindow 3 per 1m', denied: 2 });
  });

  it('comes from the file of the service: the rules of forward auth, of which the first decides, and named limits', async () => {
    const limits = simulated.file(
      `limits:
  orders: { fixedWindow: { limit: 6, window: 1m } }
forward_auth:
  trusted_proxies: [127.0.0.1]
  rules:
    - { name: health, match: { paths: [/health] }, skip: true }
    - { name: login, match: { paths: [/login], methods: [POST] }, key: [ip], policy: { fixedWindow: { limit: 2, window: 1m } } }
    - { name: api, match: { paths: ['/api/*', /login] }, key: [ip, route], policy: { fixedWindow: { limit: 3, window: 1m } } }
`,
      'limits.yaml',
    );
    const log = simulated.file(
      combinedLog([
        ...burst(9, START_MS, { target: '/health' }),
        ...burst(4, START_MS + 1000, { target: '/login', method: 'POST' }),
        ...burst(4, START_MS + 2000, { target: '/login' }),
        ...burst(4, START_MS + 3000, { target: '/api/a?b=c' }),
      ]),
    );

    const { candidates } = await simulated.report(log, '--limits', limits);

    expect(candidates).toMatchObject([
      { policy: `forward_auth of ${limits}`, denied: 2 + 1 + 1 },
      { policy: 'orders: fixedWindow 6 per 1m', denied: 15 },
    ]);
  });

  it("comes from a domain of Envoy's rules, where --descriptor says what Envoy sends", async () => {
    const limits = simulated.file(
      `domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: minute, requests_per_unit: 4 }
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 2 }
`,
      'edge.yaml',
    );
    const log = simulated.file(
      combinedLog([...burst(3, START_MS, { target: '/login' }), ...burst(4, START_MS + 1000)]),
    );

    const report = await simulated.report(
      log,
      '--limits',
      limits,
      '--descriptor',
      'remote_address=ip',
      '--descriptor',
      'path=path',
    );
    const { code, err } = await simulated.run(log, '--limits', limits);

    expect(first(report)).toMatchObject({ policy: 'descriptors of edge', denied: 1 + 2 });
    expect(code).toBe(2);
    expect(err).toContain('--descriptor');
  });
});

describe("Envoy's rules", () => {
  const edge = (rules: string): string => simulated.file(`domain: edge\ndescriptors:\n${rules}`, 'quota.yaml');
  const sent = ['--descriptor', 'own=ip', '--descriptor', 'all=all', '--descriptor', "plan='gold'"];
  const rule = (key: string, perMinute: number, rest = ''): string =>
    `  - { key: ${key}, rate_limit: { unit: minute, requests_per_unit: ${String(perMinute)} }${rest} }\n`;
  const allowedOfNine = async (rules: string): Promise<number> => {
    const log = simulated.file(combinedLog(burst(9, START_MS)));
    return 9 - first(await simulated.report(log, '--limits', edge(rules), ...sent)).denied;
  };

  it('in quota mode deny a request only when none of them allows', async () => {
    const rules = rule('own', 2, ', quota_mode: true') + rule('all', 5, ', quota_mode: true');

    expect(await allowedOfNine(rules)).toBe(5);
    // One that enforces takes part with those that still allow.
    expect(await allowedOfNine(rules + rule('plan', 3))).toBe(3);
    expect(await allowedOfNine(rules + rule('plan', 7))).toBe(5);
  });

  it('in quota mode and shadow mode always allow, and so one in quota mode does', async () => {
    const shadow = rule('all', 1, ', quota_mode: true, shadow_mode: true');

    expect(await allowedOfNine(rule('own', 2, ', quota_mode: true') + shadow)).toBe(9);
  });

  it('in shadow mode deny nothing, and take nothing of the others', async () => {
    expect(await allowedOfNine(rule('own', 2, ', shadow_mode: true'))).toBe(9);
    expect(await allowedOfNine(rule('own', 2, ', shadow_mode: true') + rule('all', 5))).toBe(5);
  });

  it('that replace another one leave it out', async () => {
    const named = `  - { key: own, rate_limit: { name: own, unit: minute, requests_per_unit: 2 } }\n`;
    const replacing = `  - { key: plan, value: gold, rate_limit: { unit: minute, requests_per_unit: 6, replaces: [{ name: own }] } }\n`;

    expect(await allowedOfNine(named)).toBe(2);
    expect(await allowedOfNine(named + replacing)).toBe(6);
  });

  it('of which one is met by two descriptors count both', async () => {
    const log = simulated.file(
      combinedLog([...burst(3, START_MS, { agent: 'a' }), ...burst(4, START_MS + 1000, { agent: 'b' })]),
    );

    const report = await simulated.report(
      log,
      ...['--limits', edge(rule('who', 5))],
      ...['--descriptor', 'who=ip', '--descriptor', 'who=user-agent'],
    );

    // The address may have five, whichever agent sends them.
    expect(first(report).denied).toBe(2);
  });
});

describe('a wrong command line', () => {
  it.each([
    [
      ['--policy', 'fixedWindow --limit many --window 1m'],
      /--policy "fixedWindow --limit many --window 1m": limit must be/,
    ],
    [['--policy', 'fixedWindw --limit 1 --window 1m'], /there is no policy "fixedWindw"; did you mean fixedWindow/],
    [['--policy', 'concurrency --limit 5 --ttl 1m'], /a log does not tell when/],
    [['--policy', 'fixedWindow --limit 1 --window 1m --escalate 5'], /--escalate must be denials, block and decay/],
    [
      ['--policy', 'fixedWindow --limit 1 --window 1m --escalate a,1m,1h'],
      /--policy ".*": --escalate a,1m,1h: after must be/,
    ],
    [['--policy', ''], /--policy must be a policy such as 'fixedWindow --limit 100 --window 1m'/],
    [['--policy', 'fixedWindow --limit 1 --window 1m +'], /or several with ' \+ ' between them/],
    [
      ['--policy', 'fixedWindow --limit 1 --window 1s+fixedWindow --limit 9 --window 1m'],
      /--limit is given twice; limits that are decided together have ' \+ ' between them, with its spaces/,
    ],
    [['--key', 'iq'], /--key has no part "iq"; did you mean ip/],
    [['--key', 'ip/8'], /from 32 to 128 bits/],
    [['--cost', 'heavy'], /--cost must be a whole number/],
    [['--format', 'cady'], /there is no format "cady"; known: combined/],
    [['--format', 'json:tme=ts'], /--format json has no field "tme"; did you mean time/],
    [['--format', '$remote_addr$time_local'], /cannot be told apart/],
    [['--max-clients', 'few'], /--max-clients must be a share such as 0.1% or 0.001, got "few"/],
    [['--routes', 'routes.txt'], /--routes routes.txt has no use: no key has the route; write --key route/],
    [['--max-keys', '0'], /--max-keys must be a whole number from 1 to 999999999/],
    [['--resort', '2h'], /--resort must be at most 1h/],
    [['--check', '/nowhere.log'], /cannot read the log \/nowhere.log/],
    [['--html', '/nowhere/report.html'], /cannot write --html/],
    [['--descriptor', 'a=ip'], /add --limits FILE/],
  ])('%j is an error that says what to write', async (flags, message) => {
    const { code, err, out } = await simulated.run(simulated.file(combinedLog(burst(1, START_MS))), ...flags);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
  });
});
