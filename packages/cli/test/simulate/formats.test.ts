import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { readInstant } from '../../src/simulate/formats/instants.ts';
import { burst, combinedLog, START_MS, useSimulate } from './simulated.ts';

const simulated = useSimulate();
const AT = START_MS + 3_600_000;
const ISO = new Date(AT).toISOString();
const COMBINED = combinedLog([{ atMs: AT, address: '2001:db8::5', target: '/a?b=1', status: 404 }]);

/** One request of 2001:db8::5 for /a with the status 404, an hour after midnight. */
const logs: readonly (readonly [name: string, log: string, format?: string])[] = [
  ['combined', COMBINED],
  ['combined, without its last two fields', COMBINED.replace(/ "-" .*/, '')],
  ['combined, with more behind', COMBINED.replace('\n', ' 0.123 more\n')],
  [
    'json',
    JSON.stringify({ time: ISO, remote_addr: '2001:db8::5', request_uri: '/a?b=1', method: 'GET', status: 404 }),
  ],
  [
    'json of pino',
    JSON.stringify({
      time: AT,
      req: { remoteAddress: '2001:db8::5', method: 'GET', url: '/a' },
      res: { statusCode: 404 },
    }),
  ],
  [
    'json of Caddy',
    JSON.stringify({ ts: AT / 1000, request: { client_ip: '2001:db8::5', uri: '/a', method: 'GET' }, status: 404 }),
  ],
  [
    'json with names',
    JSON.stringify({ when: ISO, who: { ip: '2001:db8::5' }, path: '/a', status: 404 }),
    'json:time=when,address=who.ip',
  ],
  ['csv', `time,client_ip,method,path,status\n${ISO},2001:db8::5,GET,"/a?""x"",1",404\n`],
  ['csv with semicolons', `timestamp;address;url;status\n"${ISO}";2001:db8::5;/a;404\n`],
  ['csv with columns', `${String(AT)},2001:db8::5,/a,404`, 'csv:time,address,path,status'],
  ['csv with names', `when,who,url,status\n${ISO},2001:db8::5,/a,404`, 'csv:time=when,address=who'],
  ['nginx', `2001:db8::5 [${ISO}] /a "404"`, '$remote_addr [$time_iso8601] $request_uri "$status"'],
  [
    'a directive of nginx',
    `2001:db8::5 ${String(AT / 1000)} GET /a 404`,
    "log_format x '$remote_addr $msec ' '$request_method $uri $status';",
  ],
  [
    'a list of proxies',
    `10.0.0.1, 2001:db8::5 ${String(AT / 1000)} /a 404`,
    '$http_x_forwarded_for $msec $uri $status',
  ],
  ['Apache', '2001:db8::5 [17/May/2026:01:00:00 +0000] "GET /a HTTP/1.1" 404', '%h %t \\"%r\\" %>s'],
];

describe('a log', () => {
  // A third parameter would be taken for `done` where a log needs no format.
  it.each(logs)('of %s is read', async (...row) => {
    const [, log, format] = row;
    const path = simulated.file(log);
    const policy = ['--policy', 'fixedWindow --limit 0 --window 1m'];

    const report = await simulated.report(path, ...policy, ...(format === undefined ? [] : ['--format', format]));

    expect(report).toMatchObject({ requests: 1, succeeded: 0, fromMs: AT, withoutKey: 0 });
    expect(report.logs[0]?.unreadable).toBe(0);
    expect(report.candidates[0]?.top[0]).toMatchObject({ client: '2001:db8::/64', lastPath: '/a' });
  });

  it('may be compressed by gzip, in several parts, and is merged with others by time', async () => {
    const lines = [0, 2, 4].map((second) => combinedLog([{ atMs: AT + second * 1000, address: '192.0.2.1' }]));
    const packed = simulated.file(Buffer.concat(lines.map((line) => gzipSync(line))));
    const other = simulated.file(
      combinedLog([1, 3].map((second) => ({ atMs: AT + second * 1000, address: '192.0.2.1' }))),
    );

    const report = await simulated.report(packed, other, '--policy', 'fixedWindow --limit 1 --window 2s');

    expect(report).toMatchObject({ requests: 5, late: 0, toMs: AT + 4000 });
    expect(report.candidates[0]?.denied).toBe(2);
  });

  it('may come from the standard input, a byte at a time', async () => {
    const bytes = [...Buffer.from(gzipSync(COMBINED + COMBINED))].map((byte) => Buffer.from([byte]));
    const before = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
    Object.defineProperty(process, 'stdin', { value: Readable.from(bytes), configurable: true });
    try {
      expect(await simulated.report('-')).toMatchObject({ requests: 2 });
    } finally {
      Object.defineProperty(process, 'stdin', before);
    }
  });

  it.each([
    [
      'no known format',
      'hello\nworld\n',
      [],
      'the first lines match no known format; write --format with one of combined',
    ],
    [
      'another format',
      'hello\n'.repeat(5),
      ['--format', 'combined'],
      ':1: most lines do not match the format combined',
    ],
    ['no text', Buffer.from('BZh9\0\0\0'), [], 'it is not text; write'],
    ['a broken gzip', gzipSync(COMBINED.repeat(99)).subarray(0, 60), [], 'unexpected end of file'],
  ])('of %s is an error', async (_name, log, flags, message) => {
    const { code, out, err } = await simulated.run(simulated.file(log), ...flags);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('may have lines that are no request, long ones and empty ones; the first is named', async () => {
    const log = `\0\0${COMBINED}\n${'x'.repeat(3_000_000)}\n${COMBINED}\r\n${COMBINED}`;

    const { requests, logs: read } = await simulated.report(simulated.file(log));

    expect(requests).toBe(3);
    expect(read[0]).toMatchObject({ lines: 6, unreadable: 1, firstUnreadable: 3 });
  });

  it('that steps back counts as of the line before', async () => {
    const stamps = [0, 5000, 3000, 6000].map((ms) => ({ atMs: AT + ms }));

    const report = await simulated.report(simulated.file(combinedLog(stamps)));

    expect(report).toMatchObject({ requests: 4, late: 1, toMs: AT + 6000 });
  });
});

describe('an instant', () => {
  it.each([
    ['2026-05-17T01:00:00.250Z', 250],
    ['2026-05-17 01:00:00,25', 250],
    ['2026/05/17 01:00:00', 0],
    ['2026-05-17T03:00:00+02:00', 0],
    ['[17/May/2026:03:00:00.5 +0200]', 500],
    [String(AT / 1000), 0],
    [String(AT), 0],
    [`${String(AT)}250`, 0],
    [`${String(AT)}000000`, 0],
  ])('is %s', (text, ms) => {
    expect(readInstant(text)).toBe(AT + ms);
  });

  it.each(['17/Mai/2026:01:00:00 +0000', 'yesterday', '', '-5', '9'.repeat(500)])('is not %j', (text) => {
    expect(readInstant(text)).toBeUndefined();
  });
});

describe('the key', () => {
  const two = combinedLog([
    { atMs: AT, target: '/users/1', method: 'HEAD' },
    { atMs: AT, target: '/Users/2/?a', agent: 'x' },
    { atMs: AT, target: '/files/a/b', address: '192.0.2.1' },
    { atMs: AT, target: '/users/me' },
  ]);
  it.each([
    ['ip', 2],
    ['all', 1],
    ['method', 1],
    ['ip,method', 2],
    ['path', 4],
    ['user-agent', 2],
    ['header:User-Agent', 2],
    ['field:status', 1],
    ['route', 3],
    ['user', 0],
  ])('%s distinguishes %i clients', async (key, clients) => {
    const routes = ['/users/:id', '/files/*', '/users/me'].flatMap((route) => ['--route', route]);

    const report = await simulated.report(simulated.file(two), '--key', key, ...routes);

    expect([report.clients, report.withoutKey]).toEqual([clients, clients === 0 ? 4 : 0]);
  });

  it.each([
    [['--key', 'address'], '--key has no part "address"; known: ip'],
    [['--key', 'route'], "--key route needs the routes; write each of them, as in --route '/users/:id'"],
    [['--key', 'ip/8'], '--key ip/N is the prefix of IPv6 addresses'],
    [['--key', 'route', '--route', 'users'], '--route must be the path of a route'],
    [['--format', 'clf'], 'there is no format "clf"; known: combined, json'],
    [['--format', 'json:when=ts'], '--format json takes names such as time=ts'],
    [['--format', '$remote_addr $status'], '--format needs a time'],
    [['--format', '$msec$status'], '--format has nothing between $msec and $status'],
    [['--max-clients', '101%'], '--max-clients must be a share such as 0.1%'],
    [['--max-keys', '0'], '--max-keys must be a whole number'],
    [['--policy', 'fixedWindow --limit 5'], 'window must be a duration such as'],
    [['--policy', 'fixedWindow --limit 5 --limit 6 --window 1m'], '--limit is given twice'],
    [['--policy', 'fixedWindow --limit 5 --window'], '--window has no value'],
    [['--policy', 'concurrency --limit 5 --ttl 1m'], 'which a log does not show'],
    [['--policy', 'fixedWindow --limit 5 --window 1m +'], "with ' + ' between them"],
  ])('%j is an error', async (flags, message) => {
    const { code, out, err } = await simulated.run(simulated.file(combinedLog(burst(1, AT))), ...flags);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });
});
