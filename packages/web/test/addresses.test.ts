import { describe, expect, it, jest } from '@jest/globals';
import {
  byAll,
  byHeader,
  fixedWindow,
  fromBun,
  fromCloudflare,
  fromDeno,
  fromNode,
  fromProxy,
  fromVercel,
  rateLimit,
  type AddressSource,
} from '@sluice/web';
import { expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_KEY_MISSING');

const policy = fixedWindow({ limit: 1, window: '1m' });
const request = (headers: Record<string, string> = {}): Request => new Request('http://test/', { headers });
const bun = { requestIP: () => ({ address: '203.0.113.1' }) };

describe('the option address', () => {
  it.each<[string, AddressSource, unknown, Record<string, string>]>([
    ['fromBun()', fromBun(), bun, {}],
    ['fromBun, uncalled', fromBun as never, bun, {}],
    ['fromBun(server)', fromBun(bun), undefined, {}],
    ['fromBun() in Hono', fromBun(), { server: bun }, {}],
    ['fromDeno', fromDeno, { remoteAddr: { hostname: '203.0.113.1' } }, {}],
    ['fromNode', fromNode, { socket: { remoteAddress: '203.0.113.1' } }, {}],
    ['fromNode of a bridge', fromNode, { incoming: { socket: { remoteAddress: '203.0.113.1' } } }, {}],
    ['fromCloudflare', fromCloudflare, undefined, { 'CF-Connecting-IP': '203.0.113.1' }],
    ['fromVercel', fromVercel, undefined, { 'X-Real-IP': '203.0.113.1' }],
    [
      'fromProxy',
      fromProxy(['10.0.0.0/8'], () => '10.0.0.1'),
      undefined,
      { 'X-Forwarded-For': '6.6.6.6, 203.0.113.1, 10.0.0.2' },
    ],
    [
      'fromProxy of a peer that is none',
      fromProxy(['10.0.0.0/8'], () => '203.0.113.1'),
      undefined,
      { 'X-Forwarded-For': '6.6.6.6' },
    ],
  ])('tells the client with %s', async (_name, address, context, headers) => {
    expect(await rateLimit({ policy, address }).keyFor(request(headers), context)).toBe('203.0.113.1');
  });

  it.each([
    ['the default key', {}],
    ['an allow list of addresses', { key: byAll(), allow: ['10.0.0.0/8'] }],
    ['a deny list of addresses', { key: byAll(), deny: ['10.0.0.1'] }],
  ])('is needed by %s', (_what, options) => {
    expect(() => rateLimit({ policy, ...options })).toThrow(/needs the client's address.*write address: fromBun\(\)/);
    expect(() => rateLimit({ policy, ...options, key: byHeader('x'), allow: ['ann'], deny: ['bob'] })).not.toThrow();
  });

  it('is not a text', () => {
    expect(() => rateLimit({ policy, address: 'x-forwarded-for' as never })).toThrow('address must be fromBun()');
    expect(() => rateLimit({ policy, address: fromProxy as never })).toThrow(/address must be .*got fromProxy itself/);
    expect(() => fromProxy([], fromNode as never)).toThrow('fromProxy takes the addresses of proxies');
  });

  it.each<[string, AddressSource, unknown]>([
    ['fromBun\\(\\) reads the server .* got an object \\(Object\\)', fromBun(), { incoming: {} }],
    ['fromDeno reads the info .* got undefined', fromDeno, undefined],
    ['fromDeno reads the info .* got an object', fromDeno, bun],
    ['fromNode reads the request of Node .* got an object', fromNode, bun],
    ['fromNode reads the request of Node .* got null', fromNode, null],
  ])('says %s', async (message, address, context) => {
    await expect(rateLimit({ policy, address }).check(request(), context)).rejects.toThrow(new RegExp(message));
  });

  it.each([
    ['a promise', async () => Promise.resolve('203.0.113.1')],
    ['number', () => 7],
  ])('is an error where it is %s', async (what, address) => {
    const limit = rateLimit({ policy, address: address as never });

    await expect(limit.check(request())).rejects.toThrow(
      `address must return the client's address as a text, or undefined, got ${what}`,
    );
  });

  it('gives no key to a client of Deno that has left before its request was read', async () => {
    const limit = rateLimit({ policy, address: fromDeno });

    const { response } = await limit.check(request(), { remoteAddr: { hostname: '0.0.0.0' } });

    expect(response?.status).toBe(403);
  });

  it('warns of a proxy that is not trusted', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);

    const limit = rateLimit({ policy, address: fromNode });
    await limit.check(request({ 'X-Forwarded-For': '203.0.113.1' }), { socket: { remoteAddress: '10.0.0.1' } });

    expect(warn.mock.calls.map(([, options]) => (options as { code?: string }).code)).toEqual([
      'SLUICE_PROXY_NOT_TRUSTED',
    ]);
    warn.mockRestore();
  });
});

describe('preflights without an address', () => {
  const preflight = (): Request =>
    new Request('http://test/', {
      method: 'OPTIONS',
      headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' },
    });

  it('pass where no limit has their key, instead of sharing one budget', async () => {
    const limited = rateLimit({ policy, key: byHeader('x-key') }).handle(() => new Response());

    const statuses = [];
    for (let i = 0; i < 700; i++) statuses.push((await limited(preflight())).status);

    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
