import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { bytesOf, openSource } from '../src/read/sources.ts';
import { runSluice, startSluice } from '../../cli/test/sluice.ts';
import { burst, clfStamp, combinedLog, first, START_MS, useSimulate } from './simulated.ts';

const simulated = useSimulate();
const ADDRESS = '203.0.113.7';
const TEN_PER_MINUTE = ['--policy', 'fixedWindow --limit 10 --window 1m'];
const instants = Array.from({ length: 15 }, (_, i) => START_MS + i * 1000);
const iso = (atMs: number): string => new Date(atMs).toISOString();
const json = (values: (atMs: number) => object): string =>
  instants.map((atMs) => `${JSON.stringify(values(atMs))}\n`).join('');
const text = (line: (atMs: number) => string): string => instants.map((atMs) => `${line(atMs)}\n`).join('');

/** The same fifteen requests, a second apart, in every format; each took two seconds where the format says so. */
const logs: readonly (readonly [format: string, log: string, flags?: readonly string[]])[] = [
  ['combined', combinedLog(instants.map((atMs) => ({ atMs, target: '/a?b=c', agent: 'curl/8' })))],
  ['combined', text((atMs) => `${ADDRESS} - - [${clfStamp(atMs)}] "GET /a HTTP/1.1" 200 512`)],
  ['combined', text((atMs) => `${ADDRESS} - - [${clfStamp(atMs)}] "GET /a HTTP/1.1" 200 512`).replaceAll('\n', '\r\n')],
  [
    'json',
    json((atMs) => ({
      time_iso8601: iso(atMs + 2000),
      request_time: '2.000',
      remote_addr: ADDRESS,
      request: 'GET /a HTTP/1.1',
      status: '200',
    })),
  ],
  [
    'json',
    json((atMs) => ({ when: atMs + 2000, took: 2000, who: { ip: ADDRESS }, url: '/a', code: 200 })),
    ['--format', 'json:time=when,durationMs=took,address=who.ip,status=code'],
  ],
  [
    'of the format string',
    text((atMs) => `${ADDRESS} ${((atMs + 2000) / 1000).toFixed(3)} 2.000 "GET /a HTTP/1.1" 200`),
    ['--format', '$remote_addr $msec $request_time "$request" $status'],
  ],
  [
    'of the format string',
    text((atMs) => `${ADDRESS} - - [${clfStamp(atMs)}] "GET /a HTTP/1.1" 200 512 2000000`),
    ['--format', '%h %l %u %t "%r" %>s %b %D'],
  ],
  [
    'of the format string',
    text((atMs) => `${ADDRESS} - - [${clfStamp(atMs + 2000)}] "GET /a HTTP/1.1" 200 'x' 2.000`),
    [
      '--format',
      `log_format main '$remote_addr - $remote_user [$time_local] "$request" ' # don't log the body\r\n  # '$http_referer '\n  "$status 'x' "\n  '$request_time'; # '$host'\naccess_log access.log main;\n`,
    ],
  ],
  [
    'of the format string',
    text((atMs) => `time:${iso(atMs + 2000)}\thost:${ADDRESS}\treq:GET /a HTTP/1.1\tstatus:200\ttook:2.000`),
    [
      '--format',
      String.raw`log_format ltsv escape=none 'time:$time_iso8601\t' 'host:$remote_addr\t' 'req:$request\t' 'status:$status\t' took:$request_time;`,
    ],
  ],
  [
    'of the format string',
    text((atMs) => `${ADDRESS} - - [${clfStamp(atMs)}] "GET /a HTTP/1.1" 200 512 2000000`),
    ['--format', String.raw`LogFormat "%h %l %u %t \"%r\" %>s %b %D" timed`],
  ],
];

describe('a log', () => {
  it.each(logs)('of the format %s is read', async (format, log, flags = []) => {
    const report = await simulated.report(simulated.file(log), ...TEN_PER_MINUTE, ...flags);

    expect(report.logs[0]).toMatchObject({ format, lines: 15, unreadable: 0 });
    expect({ from: report.fromMs, to: report.toMs, clients: report.clients }).toEqual({
      from: START_MS,
      to: START_MS + 14_000,
      clients: 1,
    });
    expect(first(report)).toMatchObject({ denied: 5, deniedSucceeded: 5 });
    expect(first(report).top).toMatchObject([{ client: ADDRESS, paths: [['/a', 5]], statuses: [[200, 5]] }]);
  });

  it('may be compressed by gzip, in several parts', async () => {
    const [one, other] = [combinedLog(burst(9, START_MS)), combinedLog(burst(9, START_MS + 1000))];

    const report = await simulated.report(
      simulated.file(Buffer.concat([gzipSync(one), gzipSync(other)])),
      ...TEN_PER_MINUTE,
    );

    expect(report.requests).toBe(18);
    expect(first(report).denied).toBe(8);
  });

  it('may come from the standard input, also compressed in a pipe of text', async () => {
    const input = combinedLog(burst(18, START_MS, { target: '/users/1' }));

    const { out, code } = await runSluice(
      ['simulate', '-', ...TEN_PER_MINUTE, '--key', 'ip,route', '--route', '/users/:id', '--json'],
      {
        input,
      },
    );

    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      requests: 18,
      candidates: [{ denied: 8, top: [{ client: '203.0.113.7|/users/:id' }] }],
    });
  });

  it('is merged with others by time', async () => {
    const odd = simulated.file(combinedLog([1, 3, 5, 7].flatMap((second) => burst(3, START_MS + second * 60_000))));
    const even = simulated.file(combinedLog([0, 2, 4, 6].flatMap((second) => burst(3, START_MS + second * 60_000))));

    // Two windows of two minutes each hold six requests of the two logs together.
    const report = await simulated.report(odd, even, '--policy', 'fixedWindow --limit 5 --window 2m');

    expect(report).toMatchObject({ requests: 24, late: 0, fromMs: START_MS });
    expect(first(report).denied).toBe(4);
  });

  it('says which lines are no requests', async () => {
    const log = simulated.file(`${combinedLog(burst(3, START_MS))}2026/05/17 [error] upstream failed\n`);

    const { out } = await simulated.run(log);

    expect(out).toContain(`${log}: line 4 is no request`);
  });

  it('of no known format is an error that names the formats', async () => {
    const { code, err } = await simulated.run(simulated.file('one\ntwo\n'));

    expect(code).toBe(2);
    expect(err).toMatch(
      /the first lines are of no known format; write --format with one of combined, json, json:time=PATH/,
    );
  });

  it('of another format than the given one is an error that names the line', async () => {
    const log = simulated.file(combinedLog(burst(3, START_MS)));

    const { code, err } = await simulated.run(log, '--format', 'json');

    expect(code).toBe(2);
    expect(err).toContain(`${log}:1: most lines are not of the format json`);
  });

  it('with quotes, escapes and texts that are not ASCII is read', async () => {
    const line = `${ADDRESS} - j\u00f6rg [${clfStamp(START_MS)}] "GET /caf\u00e9/\\"x\\" HTTP/1.1" 200 5 "-" "say \\"hi\\" \u2713"\n`;

    const report = await simulated.report(
      simulated.file(line.repeat(3)),
      '--key',
      'user',
      '--policy',
      'fixedWindow --limit 1 --window 1m',
    );

    expect(first(report).top).toMatchObject([
      { client: 'j\u00f6rg', paths: [['/caf\u00e9/\\"x\\"', 2]], userAgents: [['say \\"hi\\" \u2713', 2]] },
    ]);
  });
});

describe('a log that is not as it should be', () => {
  const stamped = (stamp: unknown): string => `${JSON.stringify({ time: stamp, ip: ADDRESS })}\n`;

  it.each([
    ['a number without end', '{"time":1e999,"ip":"203.0.113.7"}\n'],
    ['a number of another age', '{"time":1e300,"ip":"203.0.113.7"}\n'],
    ['a month that does not exist', stamped('17/Foo/2026:00:00:05 +0000')],
    ['an hour that does not exist', stamped('17/May/2026:24:00:05 +0000')],
    ['an instant before 1970', stamped('1969-12-31T23:59:59Z')],
    ['a duration from before 1970', `{"time":5,"request_time":100,"ip":"${ADDRESS}"}\n`],
  ])('is read around a line with %s', async (_what, line) => {
    const good = [0, 1, 2].map((second) => stamped(iso(START_MS + second * 1000)));

    const report = await simulated.report(simulated.file([...good.slice(0, 2), line, ...good.slice(2)].join('')));

    expect(report).toMatchObject({ requests: 3, late: 0, fromMs: START_MS, toMs: START_MS + 2000 });
    expect(report.logs[0]).toMatchObject({ unreadable: 1, firstUnreadable: 3 });
  });

  it.each(['', 'x', 's'])('may have a duration of half a million digits, and %j behind them', async (end) => {
    // An expression that goes back takes minutes for it.
    const line = JSON.stringify({ time: iso(START_MS), request_time: `${'1'.repeat(500_000)}${end}`, ip: ADDRESS });

    expect(await simulated.report(simulated.file(`${line}\n${stamped(iso(START_MS))}`))).toMatchObject({ requests: 2 });
  });

  it('may have a comma before the part of a second', async () => {
    const log = simulated.file(stamped('2026-05-17 00:00:00,250') + stamped('2026-05-17T00:00:01,750+00:00'));

    expect(await simulated.report(log)).toMatchObject({
      requests: 2,
      wholeSeconds: false,
      fromMs: START_MS + 250,
      toMs: START_MS + 1750,
    });
  });

  it('may begin with empty lines, or hold nothing else', async () => {
    const { logs } = await simulated.report(simulated.file('\n'.repeat(100) + combinedLog(burst(3, START_MS))));

    expect(logs[0]).toMatchObject({ format: 'combined', lines: 103, unreadable: 0 });
    expect(await simulated.report(simulated.file('\n\n\n'))).toMatchObject({ requests: 0, logs: [{ lines: 3 }] });
  });

  it('with a line of megabytes counts it as one, so that the lines after it keep their numbers', async () => {
    const log = simulated.file(
      `${combinedLog(burst(2, START_MS))}${'A'.repeat(5_000_000)}\n${combinedLog(burst(1, START_MS))}`,
    );
    const decisions = simulated.path('after-megabytes');

    const { logs } = await simulated.report(log, ...TEN_PER_MINUTE, '--decisions', decisions);

    expect(logs[0]).toMatchObject({ lines: 4, unreadable: 1, firstUnreadable: 3 });
    expect(simulated.read('after-megabytes').trimEnd().split('\n').at(-1)).toContain('"line":4,');
  });

  it('with long lines takes memory for few of them, however many come in a minute', async () => {
    const line = combinedLog(burst(1, START_MS, { target: `/${'a'.repeat(16_000)}` }));
    // 400 MB of log, of which all lines are within the window of the order.
    const log = simulated.file(Buffer.concat(Array<Buffer>(100).fill(gzipSync(line.repeat(250)))));

    const { code, out } = await runSluice(['simulate', log, '--json'], {
      env: { NODE_OPTIONS: '--max-old-space-size=200' },
    });

    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ requests: 25_000 });
  });

  it('with lines that are no requests is read in one go, however many these are', async () => {
    const requests = combinedLog(burst(600, START_MS));
    const rest = `${ADDRESS} \n`.repeat(500_000);

    const { code, err } = await simulated.run(simulated.file(requests + rest), '--format', 'combined');

    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(':601: most lines are not of') });
  });

  it('may begin with the mark of UTF-8 or, emptied while it was written, with zeros', async () => {
    const good = combinedLog(burst(3, START_MS));
    const json = [0, 1, 2].map((second) => stamped(iso(START_MS + second * 1000))).join('');

    for (const log of [`\ufeff${good}`, `${'\0'.repeat(4096)}${good}`, `\ufeff${json}`])
      expect(await simulated.report(simulated.file(log))).toMatchObject({
        ...{ requests: 3, clients: 1, logs: [{ unreadable: 0 }] },
      });
  });

  it('may have a status that is not known', async () => {
    const line = `${ADDRESS} - - [${clfStamp(START_MS)}] "GET / HTTP/1.1" - 5000 "-" "curl"\n`;

    const report = await simulated.report(
      simulated.file(line.repeat(3)),
      '--policy',
      'fixedWindow --limit 2 --window 1m',
    );

    expect(report).toMatchObject({ requests: 3, logs: [{ unreadable: 0 }] });
    expect(first(report)).toMatchObject({ denied: 1, deniedSucceeded: 0 });
    expect(first(report).top).toMatchObject([{ statuses: [[0, 1]], userAgents: [['curl', 1]] }]);
  });

  it('may be of the first minute of 1970, where clocks of small devices begin', async () => {
    const log = simulated.file(combinedLog([5000, 0, 70_000].map((atMs) => ({ atMs }))));

    expect(await simulated.report(log)).toMatchObject({ requests: 3, late: 0, fromMs: 0, toMs: 70_000 });
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeffone\ntwo\n', 'utf16le'), 'iconv -f UTF-16 -t UTF-8 LOG'],
    ['compressed by gzip twice', gzipSync(gzipSync('one\n')), 'zcat LOG'],
    ['compressed by bzip2', Buffer.from('BZh91AY&SY\n'), 'bzcat LOG'],
    ['compressed by zstd', Buffer.from('28b52ffd00', 'hex'), 'zstdcat LOG'],
  ])('that is %s is an error that says what to write', async (kind, content, instead) => {
    const log = simulated.file(content);

    expect(await simulated.run(log)).toMatchObject({
      code: 2,
      err: `sluice: ${log} is ${kind}, and no text; write '${instead} | sluice simulate -'`,
    });
  });

  it('that is compressed is read also from a pipe that hands on one byte first', async () => {
    const log = combinedLog(burst(3, START_MS));
    const packed = gzipSync(log);
    const stream = Readable.from([packed.subarray(0, 1), packed.subarray(1)]);

    const read: Buffer[] = [];
    for await (const chunk of bytesOf({ ...openSource('-'), stream })) read.push(chunk);

    expect(Buffer.concat(read).toString()).toBe(log);
  });

  it('that is cut off in its compression is an error', async () => {
    const packed = gzipSync(combinedLog(burst(2000, START_MS)));
    const { code, err } = await simulated.run(simulated.file(packed.subarray(0, packed.length / 2)));

    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringMatching(/cannot read the log .*unexpected end/),
    });
  });

  it('changes between summer and winter time without losing an hour', async () => {
    const line = (zone: string, minute: number): string =>
      `${ADDRESS} - - [25/Oct/2026:02:${String(minute).padStart(2, '0')}:00 ${zone}] "GET / HTTP/1.1" 200 5\n`;
    const hours = ['+0200', '+0100'].flatMap((zone) => [0, 20, 40].map((minute) => line(zone, minute)));

    expect(await simulated.report(simulated.file(hours.join('')))).toMatchObject({
      late: 0,
      fromMs: Date.UTC(2026, 9, 25),
      toMs: Date.UTC(2026, 9, 25, 1, 40),
    });
  });

  it('of no known format ends the command, also while more of it may come', async () => {
    const { child, ended } = startSluice(['simulate', '-']);
    child.stdin.on('error', () => undefined); // the command does not read on
    child.stdin.write('one\ntwo\n');

    const { code, err } = await ended;

    expect(code).toBe(2);
    expect(err).toContain('standard input: the first lines are of no known format');
  });
});

describe('the order of a log', () => {
  const format = ['--format', '$remote_addr $msec $request_time "$request" $status'];
  const line = (beganMs: number, tookMs: number): string =>
    `${ADDRESS} ${((beganMs + tookMs) / 1000).toFixed(3)} ${(tookMs / 1000).toFixed(3)} "GET / HTTP/1.1" 200\n`;

  it('is that of the beginnings of requests, whose durations are subtracted', async () => {
    // Written last, begun first: the long request is the one that is allowed.
    const log = simulated.file(line(START_MS + 1000, 100) + line(START_MS + 2000, 100) + line(START_MS, 30_000));
    const decisions = simulated.path('order');

    await simulated.report(log, ...format, '--policy', 'fixedWindow --limit 1 --window 1m', '--decisions', decisions);

    expect(
      simulated
        .read('order')
        .trimEnd()
        .split('\n')
        .map((one) => JSON.parse(one) as unknown),
    ).toEqual([
      { line: 3, atMs: START_MS, key: ADDRESS, candidate: 0, allowed: true },
      { line: 1, atMs: START_MS + 1000, key: ADDRESS, candidate: 0, allowed: false },
      { line: 2, atMs: START_MS + 2000, key: ADDRESS, candidate: 0, allowed: false },
    ]);
  });

  it('is repaired within --resort, and what comes later is counted', async () => {
    const log = simulated.file(
      combinedLog([START_MS + 60_000, START_MS + 120_000, START_MS].map((atMs) => ({ atMs }))),
    );

    expect(await simulated.report(log)).toMatchObject({ late: 1, requests: 3 });
    expect(await simulated.report(log, '--resort', '2m')).toMatchObject({ late: 0, requests: 3, fromMs: START_MS });
  });
});
