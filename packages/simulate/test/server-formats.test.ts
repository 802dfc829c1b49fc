import { describe, expect, it } from '@jest/globals';
import { AlbFormat } from '../src/formats/alb.ts';
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

describe("Apache's format vhost_combined", () => {
  it('has the client behind the host, which is not taken for the client', async () => {
    const log = [ADDRESS, '2001:db8:0:1::5', 'client.example.net']
      .map((client) => `www.example.org:443 ${client} - - ${CLF} "GET /a HTTP/1.1" 200 512 "-" "curl/8"\n`)
      .join('');

    expect((await linesOf(log)).map(({ key }) => key)).toEqual([ADDRESS, '2001:db8:0:1::/64', 'client.example.net']);
  });

  it('is told from a user whose name has spaces', async () => {
    expect(await linesOf(`${ADDRESS} - john smith ${CLF} "GET /a HTTP/1.1" 200 512\n`)).toEqual([
      { atMs: START_MS, key: ADDRESS },
    ]);
  });
});

describe('a format string', () => {
  it.each([
    ['%h %l %u %t \\"%r\\" %>s %b \\"%{User-Agent}i\\"', `${ADDRESS} - - ${CLF} "GET /a HTTP/1.1" 200 5 "x"`],
    [
      '[%START_TIME%] \\"%REQ(:METHOD)% %REQ(:PATH)%\\" %RESPONSE_CODE% \\"%REQ(X-FORWARDED-FOR)%\\"\\n',
      `[2026-05-17T00:00:00.000Z] "GET /a" 200 "${ADDRESS}"`,
    ],
  ])('may have the backslashes of a file of configuration: %s', async (format, line) => {
    expect(await linesOf(`${line}\n`, '--format', format)).toEqual([{ atMs: START_MS, key: ADDRESS }]);
  });

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

  it('has quotes in a text that the server does not escape, as Envoy does not', async () => {
    const line = `[2026-05-17T00:00:00.000Z] "GET /a?b="c" HTTP/1.1" 200 - 0 5 2 1 "${ADDRESS}" "a "b" c\\" "id" "host" "10.0.0.1:80"\n`;
    const log = simulated.file(line.repeat(2));

    const report = await simulated.report(log, '--policy', 'fixedWindow --limit 1 --window 1m');

    expect(report.logs).toMatchObject([{ format: 'envoy', unreadable: 0 }]);
    expect(first(report).top).toMatchObject([{ client: ADDRESS, userAgents: [['a "b" c\\', 1]], paths: [['/a', 1]] }]);
  });
});

describe('a line of a load balancer of AWS', () => {
  it('is read once, also where a quote does not close: it takes the rest', () => {
    const line = `https 2026-11-01T10:00:00.000000Z app/shop/1 203.0.113.9:4711 10.0.0.1:80 0 0.1 0 200 200 34 366 "GET https://shop.example:443/ HTTP/1.1" "${String.raw`\"a `.repeat(1000)}`;
    const format = new AlbFormat();
    const entry = format.read(line, 0, line.length);

    expect(entry?.address).toBe('203.0.113.9');
    expect(entry === undefined ? '' : format.detail(entry).userAgent).toHaveLength(4000);
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
    const line = JSON.stringify({
      ...{ ts: START_MS / 1000, duration, status: 200 },
      request: { client_ip: ADDRESS, method: 'GET', uri: '/' },
    });

    expect(await linesOf(`${line}\n`)).toEqual([{ atMs: START_MS - tookMs, key: ADDRESS }]);
  });
});

describe('an instant', () => {
  it.each([
    '2026/05/17 00:00:00.250',
    '2026-05-17T02:00:00.25+02:00',
    '2026-05-16T19:00:00.250-0500',
    '1778976000.250',
  ])('may be written as %s', async (ts) => {
    const line = JSON.stringify({ ts, status: 200, request: { client_ip: ADDRESS } });

    expect(await linesOf(`${line}\n`)).toEqual([{ atMs: START_MS + 250, key: ADDRESS }]);
  });
});

describe("Envoy Gateway's JSON", () => {
  it('has names with hyphens', async () => {
    const line = JSON.stringify({
      ...{ ':authority': 'example.org', start_time: '2026-05-17T00:00:00.000Z', duration: 2, response_code: 200 },
      ...{ method: 'GET', 'x-envoy-origin-path': '/a?b=c', 'x-forwarded-for': `192.0.2.1,${ADDRESS}` },
      ...{ 'user-agent': 'curl/8', bytes_sent: 5, downstream_remote_address: '10.0.0.9:4711' },
    });
    const log = simulated.file(`${line}\n`.repeat(2));

    const report = await simulated.report(log, '--policy', 'fixedWindow --limit 1 --window 1m');

    expect(report.logs).toMatchObject([{ format: 'envoy-json' }]);
    expect(first(report).top).toMatchObject([
      { client: ADDRESS, userAgents: [['curl/8', 1]], paths: [['/a', 1]], statuses: [[200, 1]] },
    ]);
  });
});
