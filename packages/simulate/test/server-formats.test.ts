import { describe, expect, it } from '@jest/globals';
import { first, START_MS, useSimulate } from './simulated.ts';

const simulated = useSimulate();
const ADDRESS = '203.0.113.7';
const CLF = '[17/May/2026:00:00:00 +0000]';

interface Line {
  readonly atMs: number;
  readonly key: string | null;
}

/** When and of whom the lines of a log are, as decisions. */
async function linesOf(log: string, ...flags: readonly string[]): Promise<readonly Line[]> {
  const path = simulated.path('decisions');
  await simulated.report(
    simulated.file(log),
    ...['--policy', 'fixedWindow --limit 9 --window 1m', '--decisions', path],
    ...flags,
  );
  return simulated
    .read('decisions')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { atMs, key } = JSON.parse(line) as Line;
      return { atMs, key };
    });
}

describe('the combined format', () => {
  it('has no host in front of the client: such a line is no request', async () => {
    const line = `www.example.org:443 ${ADDRESS} - - ${CLF} "GET /a HTTP/1.1" 200 512 "-" "curl/8"\n`;
    const own = `${ADDRESS} - - ${CLF} "GET /a HTTP/1.1" 200 512 "-" "curl/8"\n`;

    const { logs } = await simulated.report(simulated.file(own.repeat(3) + line));

    expect(logs).toMatchObject([{ unreadable: 1, firstUnreadable: 4 }]);
  });

  it('has users whose names have spaces', async () => {
    expect(await linesOf(`${ADDRESS} - john smith ${CLF} "GET /a HTTP/1.1" 200 512\n`)).toEqual([
      { atMs: START_MS, key: ADDRESS },
    ]);
  });
});

describe('a format string', () => {
  it.each([['%h %l %u %t \\"%r\\" %>s %b \\"%{User-Agent}i\\"', `${ADDRESS} - - ${CLF} "GET /a HTTP/1.1" 200 5 "x"`]])(
    'may have the backslashes of a file of configuration: %s',
    async (format, line) => {
      expect(await linesOf(`${line}\n`, '--format', format)).toEqual([{ atMs: START_MS, key: ADDRESS }]);
    },
  );

  it("has Apache's time in parts, as its documents write parts of a second", async () => {
    const format = '%h %l %u [%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t] "%r" %>s %b';
    const line = `${ADDRESS} - - [17/May/2026 02:00:00.250 +0200] "GET /a HTTP/1.1" 200 5\n`;

    expect(await linesOf(line, '--format', format)).toEqual([{ atMs: START_MS + 250, key: ADDRESS }]);
  });

  it("has Apache's query behind its path, with nothing between them", async () => {
    const log = simulated.file(
      `${ADDRESS} ${CLF} "GET /a?b=c HTTP/1.1" 200\n${ADDRESS} ${CLF} "GET /a HTTP/1.1" 200\n`,
    );

    const report = await simulated.report(
      log,
      ...['--format', '%h %t "%m %U%q %H" %>s', '--policy', 'fixedWindow --limit 1 --window 1m --key path'],
      ...['--key', 'path'],
    );

    expect(report.clients).toBe(1);
    expect(first(report).top).toMatchObject([{ client: '/a', paths: [['/a', 1]] }]);
  });

  it('has a list of addresses also without quotes', async () => {
    const log = `198.51.100.9, 192.0.2.1, ${ADDRESS} 1778976000.000 "GET / HTTP/1.1" 200\n- 1778976000.000 "GET / HTTP/1.1" 200\n`;

    expect(
      (await linesOf(log, '--format', '$http_x_forwarded_for $msec "$request" $status')).map(({ key }) => key),
    ).toEqual([ADDRESS, null]);
  });
});

describe('a duration in JSON', () => {
  it.each([
    ['2s', 2000],
    ['1.5ms', 2],
    ['250µs', 1],
    ['1m2.5s', 62_500],
    ['1500000ns', 2],
    [2, 2000],
    ['2', 2000],
  ])('may be written with its unit: %s', async (duration, tookMs) => {
    const line = JSON.stringify({ ts: START_MS / 1000, duration, client_ip: ADDRESS });

    expect(await linesOf(`${line}\n`, '--format', 'json:durationS=duration')).toEqual([
      { atMs: START_MS - tookMs, key: ADDRESS },
    ]);
  });
});

describe('an instant', () => {
  it.each([
    '2026/05/17 00:00:00.250',
    '2026-05-17T02:00:00.25+02:00',
    '2026-05-16T19:00:00.250-0500',
    '1778976000.250',
  ])('may be written as %s', async (ts) => {
    const line = JSON.stringify({ ts, status: 200, client_ip: ADDRESS });

    expect(await linesOf(`${line}\n`)).toEqual([{ atMs: START_MS + 250, key: ADDRESS }]);
  });
});
