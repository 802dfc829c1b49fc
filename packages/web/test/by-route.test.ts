import { describe, expect, it, jest } from '@jest/globals';
import { byRoute, fixedWindow, rateLimit } from '@sluice/web';
import { rateLimit as honoRateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';

const policy = fixedWindow({ limit: 1000, window: '1m' });

/** As `URLPattern`, which Node 20 has not, compares a path of this one form: parts that are not given are empty. */
class Pattern {
  readonly hostname: string;
  readonly pathname: string;

  constructor({ hostname = '*', pathname }: { readonly hostname?: string; readonly pathname: string }) {
    this.hostname = hostname;
    this.pathname = pathname;
  }

  test({ hostname = '', pathname }: { readonly hostname?: string; readonly pathname: string }): boolean {
    return (this.hostname === '*' || this.hostname === hostname) && /^\/v1\/[^/]+$/.test(pathname);
  }
}

describe('byRoute() with templates', () => {
  const keyOf = async (path: string): Promise<string> =>
    rateLimit({
      policy,
      key: byRoute(),
      routes: [
        '/login',
        '/users/me',
        '/users/:id',
        '/files/*',
        { pathname: '/Shops/:id', test: ({ pathname }) => /^\/Shops\/\d+$/.test(pathname) },
      ],
    }).keyFor(new Request(`http://test${path}`));

  it.each([
    ['/login', ['/login', '/LOGIN', '/login/', '//login', '/%6Cogin', '/login?x=1', '/./login', '/login;a=1']],
    ['/users/me', ['/users/me', '/users/ME/', '/users/%6de']],
    ['/users/:id', ['/users/7', '/users/eight', '/USERS/9']],
    ['/files/*', ['/files', '/files/a', '/files/a/b%2Fc']],
    ['/Shops/:id', ['/Shops/7']],
    ['(unmatched)', ['/', '/other', '/users', '/users/7/orders']],
  ])('is %s for all its spellings', async (template, paths) => {
    const keys = [];
    for (const path of paths) keys.push(await keyOf(path));

    expect(new Set(keys)).toEqual(new Set([template]));
  });

  it.each([[[]], ['/login'], [['login']], [[7]], [['/users/[id]']], [['/users/{id}']]])(
    'is an error for %p',
    (routes) => {
      expect(() => rateLimit({ policy, key: byRoute(), routes: routes as never })).toThrow(
        /routes.* must be a.*\/users\/:id/,
      );
    },
  );

  it('takes the path of a URLPattern that has a host, too', async () => {
    const routes = [new Pattern({ hostname: 'api.example.com', pathname: '/v1/:id' })];
    const limit = rateLimit({ policy, key: byRoute(), routes });

    const keys = [];
    for (const url of ['http://api.example.com/v1/7', 'http://test/V1/8'])
      keys.push(await limit.keyFor(new Request(url)));

    expect(keys).toEqual(['/v1/:id', '/v1/:id']);
  });
});

describe('byRoute() without templates', () => {
  it('is the host, with a warning, for a hundred hosts; then all share one', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const limit = rateLimit({ policy, key: byRoute() });

    const keys = [];
    for (let i = 0; i < 102; i++) keys.push(await limit.keyFor(new Request(`http://Host${String(i)}/a/${String(i)}`)));

    expect([keys[0], keys[99], keys[100], keys[101]]).toEqual(['//host0', '//host99', '*', '*']);
    expect(await limit.keyFor(new Request('http://host0/b'))).toBe('//host0');
    expect(warn.mock.calls.map(([, options]) => (options as { code?: string }).code)).toEqual(['SLUICE_ROUTE_UNKNOWN']);
    warn.mockRestore();
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
