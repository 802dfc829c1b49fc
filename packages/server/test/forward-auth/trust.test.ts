import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { silenceWarnings } from '@sluice/old-core';
import { expectWarnings } from '@sluice/testkit';
import { AuthService, detailOf, type Addresses, type AuthRequest } from './auth-service.ts';

expectWarnings('SLUICE_KEY_MISSING');

/** @param proxies - As YAML has them. */
const rules = (proxies: string): string => `
forward_auth:
  trusted_proxies: [${proxies}]
  rules:
    - { name: all, policy: { fixedWindow: { limit: 2, window: 1h } } }
`;

let auth: AuthService;

afterEach(async () => {
  await auth.close();
});

beforeAll(() => {
  silenceWarnings('SLUICE_PROXY_NOT_TRUSTED');
});

describe('a gateway that is not trusted', () => {
  it('gets 403 with what to do about it, whatever it states, and counts nothing', async () => {
    auth = await AuthService.start(rules('10.0.0.0/8'));

    const answers = [
      await auth.ask(),
      await auth.ask({ address: null, target: null }),
      await auth.ask({ to: { path: '/auth/x' } }),
    ];
    auth.reload(rules('127.0.0.1'));
    const afterwards = await auth.statuses(3);

    for (const { status, headers, body } of answers) {
      expect(status).toBe(403);
      expect(headers['content-type']).toBe('application/problem+json');
      expect(detailOf(body)).toContain('trusted_proxies');
    }
    expect(afterwards).toEqual([200, 200, 429]);
  });

  it.each(['127.0.0.1', '127.0.0.0/8', '::ffff:127.0.0.1', '0.0.0.0/0'])(
    'is one in no range; %s is one',
    async (range) => {
      auth = await AuthService.start(rules(`'${range}'`));

      expect((await auth.ask()).status).toBe(200);
    },
  );
});

describe('the client of a request', () => {
  it.each<[string, Addresses, Addresses]>([
    ['the last address that is no proxy', '203.0.113.1', '6.6.6.6, 203.0.113.1'],
    ['that before proxies', '203.0.113.1', '6.6.6.6, 203.0.113.1, 10.1.2.3, 127.0.0.1'],
    ['the same over several lines', '203.0.113.1', ['6.6.6.6', '203.0.113.1', '10.1.2.3']],
    ['the same with a port', '203.0.113.1', '203.0.113.1:4711'],
    ['the same in IPv6', '203.0.113.1', '::FFFF:203.0.113.1'],
    ['all of a /64', '2001:db8:1:2::1', '[2001:DB8:1:2:3:4:5:6]:4711'],
    ['the first proxy where all are', '10.1.1.1', '10.1.1.1, 10.2.2.2'],
    ['the gateway itself where it names none', '127.0.0.1', null],
  ])('is %s', async (_what, one, other) => {
    auth = await AuthService.start(rules('127.0.0.1, 10.0.0.0/8'));

    const statuses = [...(await auth.statuses(2, { address: one })), ...(await auth.statuses(1, { address: other }))];
    const another = await auth.ask({ address: '203.0.113.2' });

    expect(statuses).toEqual([200, 200, 429]);
    expect(another.status).toBe(200);
  });

  it.each(['unknown', '_hidden', '01.02.03.04', '1.2.3', '0x7f.1', 'g::1', '', '203.0.113.1, x', ','])(
    'is none in %j, and gets 403',
    async (address) => {
      auth = await AuthService.start(rules('127.0.0.1'));

      const { status, body } = await auth.ask({ address });

      expect(status).toBe(403);
      expect(detailOf(body)).toContain('no rate-limit key');
    },
  );

  it('is X-Real-IP where there is no X-Forwarded-For', async () => {
    auth = await AuthService.start(rules('127.0.0.1'));
    const asked = { address: null, headers: { 'X-Real-IP': '203.0.113.1' } };

    const statuses = [...(await auth.statuses(2, asked)), ...(await auth.statuses(1, { address: '203.0.113.1' }))];

    expect(statuses).toEqual([200, 200, 429]);
  });

  it('is not chosen with other fields', async () => {
    auth = await AuthService.start(rules('127.0.0.1'));
    const names = [
      'CF-Connecting-IP',
      'True-Client-IP',
      'X-Client-IP',
      'X-Cluster-Client-IP',
      'Client-IP',
      'Forwarded',
    ];

    const statuses = [];
    for (const name of names) statuses.push((await auth.ask({ headers: { [name]: '6.6.6.6' } })).status);

    expect(statuses).toEqual([200, 200, 429, 429, 429, 429]);
  });
});

describe('fields that contradict each other', () => {
  it.each<[string, AuthRequest]>([
    ['the target', { headers: { 'X-Original-URI': '/free' } }],
    ['the target, as a URL', { headers: { 'X-Original-URL': 'https://shop.example/free' } }],
    ['the target, twice', { headers: { 'X-Forwarded-Uri': ['/free', '/api/1'] }, target: null }],
    ['the target, by prefix', { to: { path: '/auth/free' } }],
    ['the method', { headers: { 'X-Original-Method': 'POST' } }],
    ['the method, by prefix', { target: null, to: { path: '/auth/api/1', method: 'POST' } }],
    ['the address', { headers: { 'X-Real-IP': '203.0.113.2' } }],
    ['the address, in a list', { headers: { 'X-Real-IP': '203.0.113.1, 203.0.113.2' } }],
  ])('get 403: %s', async (_what, asked) => {
    auth = await AuthService.start(rules('127.0.0.1'));

    const { status, body } = await auth.ask(asked);

    expect(status).toBe(403);
    expect(detailOf(body)).toContain('contradict');
  });

  it.each<[string, AuthRequest]>([
    ['in both families', { headers: { 'X-Original-URI': '/api/1', 'X-Original-Method': 'GET' } }],
    ['as a URL', { headers: { 'X-Original-URL': 'https://shop.example/api/1' } }],
    ['with the address in another spelling', { headers: { 'X-Real-IP': '::ffff:203.0.113.1' } }],
  ])('are not those that state the same %s', async (_what, asked) => {
    auth = await AuthService.start(rules('127.0.0.1'));

    expect((await auth.ask(asked)).status).toBe(200);
  });
});
