import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { listen, until } from '@sluice/testkit';
import { consume, get, useServe } from './serving.ts';

const { serve, run, file } = useServe();
const LIMITS = 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n';

describe('sluice serve', () => {
  it('says in one line when it is ready, and where it listens', async () => {
    const serving = await serve(['--config', file(LIMITS)]);
    const allowed = [await consume(serving, 'login'), await consume(serving, 'login'), await consume(serving, 'login')];

    expect(serving.printed.out.split('\n')).toHaveLength(2);
    expect(Object.keys(serving.addresses)).toEqual(['grpc', 'http', 'admin']);
    expect(serving.printed.err).toBe('');
    expect(allowed).toEqual([true, true, false]);
  });

  it('listens on the loopback where a port stands alone, and not at all where off does', async () => {
    const { addresses } = await serve(['--config', file(LIMITS), '--grpc', 'off', '--admin', '[::1]:0']);

    expect(Object.keys(addresses)).toEqual(['http', 'admin']);
    expect(addresses['http']).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(addresses['admin']).toMatch(/^\[::1\]:\d+$/);
  });

  it('takes durations without a unit as milliseconds', async () => {
    const durations = ['--drain', '0', '--shutdown-delay', '0', '--timeout', '100'];
    const { printed } = await serve(['--config', file(LIMITS), ...durations]);

    expect(printed.err).toBe('');
  });

  it('starts without Redis, says so, and decides in memory until it is there', async () => {
    const serving = await serve(['--config', file(LIMITS), '--redis', 'redis://127.0.0.1:1']);

    expect([await consume(serving, 'login'), await consume(serving, 'login')]).toContain(true);
    await until('it says so', () => /^sluice: redis does not decide/m.test(serving.printed.err));
    expect((await get(serving.addresses['http'] ?? '', '/healthcheck')).status).toBe(200);
  });
});

describe('a wrong command line', () => {
  it.each<[string, readonly string[], string]>([
    ['without a file', [], "required option '--config <path>' not specified"],
    [
      'a file that is not there',
      ['--config', '/nowhere/limits.yaml'],
      'cannot read the configuration /nowhere/limits.yaml: ENOENT',
    ],
    ['an unknown option', ['--config', 'x', '--confg', 'x'], "unknown option '--confg'"],
    ['a wrong address', ['--grpc', 'here'], 'grpc must be a port such as 8081, host:port such as 0.0.0.0:8081'],
    ['a port out of range', ['--http', '99999'], 'http must be a port such as 8081'],
    ['no listener', ['--grpc', 'off', '--http', 'off', '--admin', 'off'], 'a server needs a listener'],
    ['workers without Redis', ['--workers', '2'], '--workers 2 needs --redis, or each process would count separately'],
    [
      'a delay that no timer can wait',
      ['--config', 'x', '--shutdown-delay', '25d'],
      '--shutdown-delay must be at most 24d, got "25d"',
    ],
    ['no number of workers', ['--workers', 'two'], '--workers must be a whole number from 1 to 256, got "two"'],
    ['a short token', ['--token', 'secret'], 'token must be at least 16 characters'],
    ['a certificate without a key', ['--tls-cert', 'x'], '--tls-cert and --tls-key belong together'],
    [
      'TLS on listeners that are off',
      ['--tls-cert', 'x', '--tls-key', 'y', '--grpc', 'off', '--http', 'off'],
      'tls must be left out: only grpc and http have TLS, and both are off',
    ],
    ['a wrong duration', ['--timeout', 'soon'], '--timeout must be'],
    ['no URL of Redis', ['--redis', 'localhost:6379'], 'redis must be a URL such as redis://host:6379'],
    ['no address of Sentinel', ['--sentinel', 'yes'], 'sentinel must be a port such as 8081, host:port'],
  ])('with %s says what to write, and ends with 2', async (_what, args, message) => {
    const config = args.includes('--config') || args.length === 0 ? [] : ['--config', file(LIMITS)];
    const { code, out, err } = await run([...config, ...args]);

    expect(err).toContain(message);
    expect([code, out]).toEqual([2, '']);
  });

  it('never shows a password or the token', async () => {
    const secrets = ['--redis', 'http://me:hunter2@host', '--token', 'sesame'];
    const { err } = await run(['--config', file(LIMITS), ...secrets]);

    expect(err).not.toMatch(/hunter2|sesame/);
  });

  it('names the address that another process has, and ends with 1', async () => {
    const { port, close } = await listen(() => undefined);
    const others = ['--grpc', 'off', '--admin', 'off'];
    const { code, err } = await run(['--config', file(LIMITS), ...others, '--http', String(port)]);
    await close();

    expect(err).toMatch(new RegExp(`^sluice: cannot listen: http: .*EADDRINUSE.*127\\.0\\.0\\.1:${String(port)}$`));
    expect(code).toBe(1);
  });
});

describe('sluice serve --check', () => {
  it('counts what a file has, also a large one, and ends with 0', async () => {
    const text = `domain: edge
descriptors: [{ key: a, rate_limit: { unit: second, requests_per_unit: 1 } }]
${LIMITS}  # ${'so long that a thread of its own reads it, '.repeat(500)}
forward_auth: { trusted_proxies: [127.0.0.1], rules: [{ skip: true }, { policy: { fixedWindow: { limit: 1, window: 1s } } }] }
sentinel:
  namespace: shop
  rules: [{ resource: a, count: 1, clusterMode: true, clusterConfig: { flowId: 1 } }, { resource: b, count: 1 }]
`;
    const path = file(text);

    expect(await run(['--config', path, '--check'])).toEqual({
      code: 0,
      out: `${path} can be used: 1 domain, 1 limit, 2 rules of forward auth, 1 rule of Sentinel`,
      err: '',
    });
  });

  it('prints every problem where editors find it, and ends with 2', async () => {
    const path = file(`domain: edge
descriptors:
  - key: a
    rate_limit: { unit: parsec, requests_per_unit: 1 }
  - key: a
    rate_limits: { unit: second, requests_per_unit: 1 }
`);
    const { code, out, err } = await run(['--config', path, '--check']);

    expect(err.split('\n').map((line) => line.replace(/: .*/, ''))).toEqual([
      `${path}:4:25`,
      expect.stringMatching(/limits\.yaml:(5:5|6:5)$/),
      expect.stringMatching(/limits\.yaml:(5:5|6:5)$/),
    ]);
    expect(err).toContain('unit must be one of second, minute, hour, day, week, month, year, got "parsec"');
    expect(err).toContain('did you mean rate_limit?');
    expect([code, out]).toEqual([2, '']);
  });

  it('says what a managed policy needs, and takes it where Redis is named', async () => {
    const path = file('limits:\n  orders: { managed: orders }\n');
    const { code, err } = await run(['--config', path, '--check']);

    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`${path}:2:3: a managed policy is kept in Redis: give --redis`),
    ]);
    expect((await run(['--config', path, '--check', '--redis', 'redis://127.0.0.1:1'])).code).toBe(0);
  });

  it('reads every file of a folder', async () => {
    file('domain: one\n', 'one.yaml');
    const other = file('domain: two\n', 'other.yaml');

    expect((await run(['--config', join(other, '..'), '--check'])).out).toContain('2 domains');
  });
});
