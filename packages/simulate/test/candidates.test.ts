import { describe, expect, it } from '@jest/globals';
import { burst, combinedLog, first, START_MS, useSimulate } from './simulated.ts';

const simulated = useSimulate();
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
    ['fixedWindow 60', 'too many words'],
    ['fixedWindow({ limit: 60, window: "1m" })', 'too many words'],
    ['fixedWindow --max 60 --window 1m', "unknown option '--max'"],
  ])('that is written in another way is answered with the right one: %s', async (policy, wrong) => {
    const log = simulated.file(combinedLog(burst(1, START_MS)));

    const { code, err } = await simulated.run(log, '--policy', policy);

    expect(code).toBe(2);
    expect(err).toContain(`${wrong}; write a kind and its options, as in 'fixedWindow --limit 100 --window 1m'`);
  });

  it('paces', async () => {
    const log = simulated.file(combinedLog(burst(5, START_MS)));

    const report = await simulated.report(log, '--policy', 'leakyBucket --limit 60 --window 1m --max-delay 2s');

    expect(first(report)).toMatchObject({ denied: 2, delayed: 2, longestDelayMs: 2000 });
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
    [['--policy', 'fixedWindow --limit 5 --window 1m --count-denied true'], /countDenied would count is not tried/],
    [['--policy', ''], /--policy must be a policy such as 'fixedWindow --limit 100 --window 1m'/],
    [['--policy', 'fixedWindow --limit 1 --window 1m +'], /or several with ' \+ ' between them/],
    [
      ['--policy', 'fixedWindow --limit 1 --window 1s+fixedWindow --limit 9 --window 1m'],
      /--limit is given twice; limits that are decided together have ' \+ ' between them, with its spaces/,
    ],
    [['--key', 'iq'], /--key has no part "iq"; did you mean ip/],
    [['--key', 'ip/8'], /from 32 to 128 bits/],
    [['--format', 'cady'], /there is no format "cady"; known: combined/],
    [['--format', 'json:tme=ts'], /--format json has no field "tme"; did you mean time/],
    [['--format', '$remote_addr$time_local'], /cannot be told apart/],
    [['--max-clients', 'few'], /--max-clients must be a share such as 0.1% or 0.001, got "few"/],
    [['--route', '/users/:id'], /--route has no use: no key has the route; write --key route/],
    [['--route', 'users'], /--route must be the path of a route, such as \/users\/:id or \/files\/\*, got "users"/],
    [['--key', 'ip,route'], /--key route needs the routes; write each of them, as in --route '\/users\/:id'/],
    [['--max-keys', '0'], /--max-keys must be a whole number from 1 to 999999999/],
    [['--resort', '2h'], /--resort must be at most 1h/],
    [['/nowhere.log'], /cannot read the log \/nowhere.log/],
    [['--html', '/nowhere/report.html'], /cannot write --html/],
  ])('%j is an error that says what to write', async (flags, message) => {
    const { code, err, out } = await simulated.run(simulated.file(combinedLog(burst(1, START_MS))), ...flags);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
  });
});
