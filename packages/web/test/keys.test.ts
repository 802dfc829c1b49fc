import { describe, expect, it } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import {
  byRoute,
  createRateLimit,
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
import { createRateLimit as createHonoRateLimit, rateLimit as honoRateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';

expectWarnings('SLUICE_ROUTE_UNKNOWN');

const policy = fixedWindow({ limit: 1, window: '1m' });
const request = (headers: Record<string, string> = {}): Request => new Request('http://test/', { headers });
const bun = { requestIP: () => ({ address: '203.0.113.1' }) };
const node = { socket: { remoteAddress: '203.0.113.1' } };
const proxied = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.1, 10.0.0.2' };

describe('the option address', () => {
  it.each<[string, AddressSource, unknown, Record<string, string>]>([
    ['fromBun()', fromBun(), bun, {}],
    ['fromBun, uncalled', fromBun as never, bun, {}],
    ['fromBun(server)', fromBun(bun), undefined, {}],
    ['fromBun() in Hono', fromBun(), { server: bun }, {}],
    ['fromDeno', fromDeno, { remoteAddr: { hostname: '203.0.113.1' } }, {}],
    ['fromNode', fromNode, node, {}],
    ['fromNode of a bridge', fromNode, { incoming: node }, {}],
    ['fromCloudflare', fromCloudflare, undefined, { 'CF-Connecting-IP': '203.0.113.1' }],
    ['fromVercel', fromVercel, undefined, { 'X-Real-IP': '203.0.113.1' }],
    ['fromProxy', fromProxy(['10.0.0.0/8'], () => '10.0.0.1'), undefined, proxied],
    ['fromProxy of a peer that is none', fromProxy(['10.0.0.0/8'], fromNode), node, { 'X-Forwarded-For': '6.6.6.6' }],
  ])('finds the client with %s', async (_name, address, context, headers) => {
    expect(await rateLimit({ policy, address }).keyFor(request(headers), context)).toBe('203.0.113.1');
  });

  it('is needed by the default key', () => {
    expect(() => rateLimit({ policy })).toThrow(/needs the client's address.*createRateLimit\(/);
  });

  it.each([['x-forwarded-for'], [fromProxy], [null]])('is not %p', (address) => {
    expect(() => rateLimit({ policy, address: address as never })).toThrow('address must be fromBun()');
    expect(() => fromProxy(['10.0.0.0/8'], address as never)).toThrow('address must be fromBun()');
    expect(() => createRateLimit({ address: address as never })).toThrow('address must be fromBun()');
  });

  it.each<[string, AddressSource, unknown]>([
    ['fromBun\\(\\) reads the server .* got an object with incoming', fromBun(), { incoming: {} }],
    ['fromDeno reads the info .* got undefined', fromDeno, undefined],
    ['fromNode reads the request of Node .* got null', fromNode, null],
    ['must return the client.s address as a string, or undefined, got 7', (() => 7) as never, undefined],
    ['it must be synchronous', (async () => Promise.resolve('203.0.113.1')) as never, undefined],
  ])('is an error at a request: %s', async (message, address, context) => {
    await expect(rateLimit({ policy, address }).check(request(), context)).rejects.toThrow(new RegExp(message));
  });

  it('gives no key to a client of Deno that has left before its request was read', async () => {
    const limit = rateLimit({ policy, address: fromDeno });

    const { response } = await limit.check(request(), { remoteAddr: { hostname: '0.0.0.0' } });

    expect(response?.status).toBe(403);
  });
});

describe('createRateLimit({ address })', () => {
  it('makes limits that find the address by it, unless they have another', async () => {
    const limitFor = createRateLimit({ address: fromNode });

    expect(await limitFor({ policy }).keyFor(request(), node)).toBe('203.0.113.1');
    expect(await limitFor({ policy, address: () => '203.0.113.2' }).keyFor(request())).toBe('203.0.113.2');
  });

  it('makes middleware of Hono', async () => {
    const limitFor = createHonoRateLimit({ address: fromNode });
    const app = new Hono();
    app.get('/', limitFor({ policy }), (c) => c.json(c.var.rateLimit?.key));

    expect(await (await app.request('/', {}, { incoming: node })).json()).toBe('203.0.113.1');
  });
});

const routes = ['/login', '/users/me', '/users/:id', '/files/*', '/café.html'];
const keysOf = async (paths: readonly string[], given?: readonly string[]): Promise<unknown[]> => {
  const limit = rateLimit({ policy, key: byRoute(), routes: given });
  return Promise.all(paths.map(async (path) => limit.keyFor(new Request(`http://test${path}`))));
};

describe('byRoute()', () => {
  it.each([
    ['/login', ['/login', '/LOGIN', '/login/', '//login', '/%6Cogin', '/login?x=1', '/./login', '/login;a=1']],
    ['/users/me', ['/users/me', '/users/ME/', '/users/%6de']],
    ['/users/:id', ['/users/7', '/users/eight', '/USERS/9']],
    ['/files/*', ['/files', '/files/a', '/files/a/b%2Fc']],
    ['/café.html', ['/caf%C3%A9.html', '/CAF%C3%89.html/']],
    ['(unmatched)', ['/', '/other', '/users', '/users/7/orders', '/filesystem', '/cafe-html']],
  ])('is %s for all its spellings', async (template, paths) => {
    expect(new Set(await keysOf(paths, routes))).toEqual(new Set([template]));
  });

  it.each([[[]], ['/login'], [['login']], [[7]], [['/users/[id]']], [['/users/{id}']], [[{ pathname: '/login' }]]])(
    'is an error for %p',
    (given) => {
      expect(() => rateLimit({ policy, key: byRoute(), routes: given as never })).toThrow(
        /routes.* must be a.*\/users\/:id/,
      );
    },
  );

  it('is one key for all requests without the option routes, with a warning', async () => {
    expect(await keysOf(['/login', '/users/7'])).toEqual(['(unmatched)', '(unmatched)']);
  });
});

describe('byRoute() in Hono', () => {
  it('is the template that the router has matched, with the applications around it', async () => {
    const keys: unknown[] = [];
    const limit = () =>
      honoRateLimit({ policy, key: byRoute(), onDecision: (_decision, { key }) => void keys.push(key) });
    const shop = new Hono().get('/items/:id', (c) => c.text('item')).all('/any', (c) => c.text('any'));
    const app = new Hono();
    app.use(limit());
    app.use('/shop/*', async (_c, next) => next());
    app.route('/shop', shop);
    app.get('/users/:id', limit(), (c) => c.text('user'));
    // As app.mount does, which is deprecated.
    app.all('/legacy/*', async (_c, _next) => Promise.resolve(new Response('legacy')));

    for (const path of ['/shop/items/7', '/shop/any', '/users/8', '/legacy/x', '/nowhere']) await app.request(path);

    expect(keys).toEqual(['/shop/items/:id', '/shop/any', '/users/:id', '/users/:id', '/legacy/*', '(unmatched)']);
  });
});
