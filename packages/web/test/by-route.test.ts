import { describe, expect, it } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import { byRoute, fixedWindow, rateLimit, type Route } from '@sluice/web';
import { rateLimit as honoRateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';

const policy = fixedWindow({ limit: 1000, window: '1m' });

/** As `URLPattern`, which Node 20 does not have, compares a path of this one form: parts that are not given are empty. */
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

const routes: readonly Route[] = [
  '/login',
  '/users/me',
  '/users/:id',
  '/files/*',
  '/café.html',
  new Pattern({ hostname: 'api.example.com', pathname: '/v1/:id' }),
];
const keysOf = async (paths: readonly string[], given?: readonly Route[]): Promise<unknown[]> => {
  const limit = rateLimit({ policy, key: byRoute(), routes: given });
  return Promise.all(paths.map(async (path) => limit.keyFor(new Request(`http://test${path}`))));
};

describe('byRoute()', () => {
  expectWarnings('SLUICE_ROUTE_UNKNOWN');

  it.each([
    ['/login', ['/login', '/LOGIN', '/login/', '//login', '/%6Cogin', '/login?x=1', '/./login', '/login;a=1']],
    ['/users/me', ['/users/me', '/users/ME/', '/users/%6de']],
    ['/users/:id', ['/users/7', '/users/eight', '/USERS/9']],
    ['/files/*', ['/files', '/files/a', '/files/a/b%2Fc']],
    ['/café.html', ['/caf%C3%A9.html', '/CAF%C3%89.html/']],
    ['/v1/:id', ['/v1/7', '/V1/8']],
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
