import { describe, expect, it } from '@jest/globals';
import { combinedLog, first, START_MS, useSimulate, type LoggedRequest } from './simulated.ts';

const simulated = useSimulate();
const ONE_A_MINUTE = ['--policy', 'fixedWindow --limit 1 --window 1m'];
const logOf = (requests: readonly Omit<LoggedRequest, 'atMs'>[]): string =>
  simulated.file(combinedLog(requests.map((request, i) => ({ ...request, atMs: START_MS + i * 1000 }))));

describe('the key of simulate', () => {
  it('is the address in canonical form, IPv6 by prefix', async () => {
    const log = logOf(
      ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8:0:1::1', '2001:DB8:0:1::2', '2001:db8:0:2::1'].map((address) => ({
        address,
      })),
    );

    expect(await simulated.report(log, ...ONE_A_MINUTE)).toMatchObject({ clients: 3, candidates: [{ denied: 2 }] });
    expect(await simulated.report(log, '--key', 'ip/48', ...ONE_A_MINUTE)).toMatchObject({
      clients: 2,
      candidates: [{ denied: 3 }],
    });
  });

  it('is a name that is not ASCII as it is written, whatever the format', async () => {
    const names = ['M\u00fcller', 'M\u00f6ller', '\u0416\u0443\u043a'];
    const json = names.map((name) => `${JSON.stringify({ time: '2026-05-17T00:00:00Z', ip: name })}\n`).join('');
    const text = names.map((name) => `${name} [2026-05-17T00:00:00Z]\n`).join('');
    const policy = ['--policy', 'fixedWindow --limit 0 --window 1m'];

    for (const args of [
      [simulated.file(json)],
      [simulated.file(text), '--format', '$remote_addr [$time_iso8601]'],
      [simulated.file(combinedLog(names.map((address) => ({ address, atMs: START_MS }))))],
    ]) {
      const { top } = first(await simulated.report(...args, ...policy));
      expect(top.map(({ client }) => client)).toEqual(names.map((name) => name.toLowerCase()));
    }
  });

  it('leaves out requests without one, and counts them', async () => {
    const report = await simulated.report(logOf([{ address: '-' }, {}, {}]), ...ONE_A_MINUTE);

    expect(report).toMatchObject({ requests: 3, withoutKey: 1, clients: 1, candidates: [{ denied: 1 }] });
  });

  it('is any field of the format', async () => {
    const line = (key: string): string => `{"time":"2026-05-17T00:00:00Z","ip":"203.0.113.7","api":{"key":"${key}"}}\n`;
    const log = simulated.file([line('a'), line('a'), line('b')].join(''));

    expect(await simulated.report(log, '--key', 'field:api.key', ...ONE_A_MINUTE)).toMatchObject({
      clients: 2,
      candidates: [{ denied: 1 }],
    });
  });

  it('is a header field that the format has', async () => {
    const line = (key: string): string => `203.0.113.7 1779000000.000 "${key}" "GET / HTTP/1.1" 200\n`;
    const log = simulated.file(line('a') + line('b') + line('b'));
    const format = ['--format', '$remote_addr $msec "$http_x_api_key" "$request" $status'];

    expect(await simulated.report(log, ...format, '--key', 'header:x-api-key', ...ONE_A_MINUTE)).toMatchObject({
      clients: 2,
      candidates: [{ denied: 1 }],
    });
  });
});

describe('templates of routes', () => {
  const paths = [
    ...Array.from({ length: 60 }, (_, i) => `/users/${String(i)}/orders`),
    ...Array.from(
      { length: 60 },
      (_, i) => `/articles/some-${'abcdefghij'.charAt(i % 10)}${String(i)}-title?page=${String(i)}`,
    ),
    ...Array.from({ length: 60 }, () => '/users/me/orders'),
    ...Array.from({ length: 5 }, () => '/Health/'),
  ];
  const log = (): string => logOf(paths.map((target) => ({ target })));

  it('are those of --route, and all other paths are one', async () => {
    const report = await simulated.report(
      log(),
      ...['--key', 'route', '--route', '/users/:who/orders', '--route', '/articles/*'],
      ...['--policy', 'fixedWindow --limit 1 --window 1h'],
    );

    expect(first(report).top.map(({ client, denied }) => [client, denied])).toEqual([
      ['/users/:who/orders', 119],
      ['/articles/*', 59],
      ['(other)', 4],
    ]);
  });

  it('with a segment as it is stand before those with a parameter, whatever their order', async () => {
    const routes = ['--route', '/users/:id/orders', '--route', '/users/me/orders', '--route', '/health'];

    const report = await simulated.report(
      log(),
      ...['--key', 'route', ...routes, '--policy', 'fixedWindow --limit 1 --window 1h'],
    );

    expect(first(report).top.map(({ client, denied }) => [client, denied])).toEqual([
      ['/users/:id/orders', 59],
      ['(other)', 59],
      ['/users/me/orders', 59],
      ['/health', 4],
    ]);
  });
});
