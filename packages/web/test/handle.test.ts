import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/testkit';
import { byAll, byHeader, byUser, fixedWindow, memoryStore, rateLimit, type RateLimit } from '@sluice/web';

const once = (): RateLimit =>
  rateLimit({ policy: fixedWindow({ limit: 1, window: '1m' }), key: byAll(), store: still() });
/** A store whose time stands still, so that waits are exact. */
const still = () => memoryStore({ clock: fakeClock() });
const get = (path = '/', init: RequestInit = {}): Request => new Request(`http://test${path}`, init);

describe('a limited handler', () => {
  it('answers with fields, then denies with problem details, without a promise', async () => {
    const limited = once().handle(() => new Response('hello'));

    const [allowed, denied] = [limited(get()), limited(get())] as [Response, Response];

    expect([allowed.status, allowed.headers.get('ratelimit')]).toEqual([200, '"default";r=0;t=60']);
    expect(await allowed.text()).toBe('hello');
    expect(denied.status).toBe(429);
    expect(Object.fromEntries(denied.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/problem+json',
      ratelimit: '"default";r=0;t=60',
      'ratelimit-policy': '"default";q=1;w=60',
      'retry-after': '60',
    });
    expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] });
  });

  it('gets all arguments, and the decision on the request', () => {
    const limited = once().handle((request: Request, params: { readonly id: string }) =>
      Response.json([params.id, request.rateLimit?.key, request.rateLimit?.decision.remaining]),
    );

    return expect((limited(get(), { id: '7' }) as Response).json()).resolves.toEqual(['7', '*', 0]);
  });

  it('counts a request that is sent again, and one inside of another once', async () => {
    const two = rateLimit({
      name: 'two',
      policy: fixedWindow({ limit: 2, window: '1m' }),
      key: byAll(),
      store: still(),
    });
    const limited = two.handle(two.handle(() => new Response('hello')));
    const request = get();

    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await limited(request)).status);

    expect(statuses).toEqual([200, 200, 429]);
  });

  it('puts the fields of several limits into one list, the outer one first', async () => {
    const outer = rateLimit({
      name: 'outer',
      policy: fixedWindow({ limit: 9, window: '1m' }),
      key: byAll(),
      store: still(),
    });
    const limited = outer.handle(once().handle(async () => Promise.resolve(new Response('hello'))));

    const answers = [await limited(get()), await limited(get())];

    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual([
      '"outer";q=9;w=60, "default";q=1;w=60',
      '"outer";q=9;w=60, "default";q=1;w=60',
    ]);
    expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
      [200, 'text/plain;charset=UTF-8'],
      [429, 'application/problem+json'],
    ]);
  });

  it('adds to the fields of a request that is made again between two limits', async () => {
    const outer = rateLimit({
      name: 'outer',
      policy: fixedWindow({ limit: 9, window: '1m' }),
      key: byAll(),
      store: still(),
    });
    const inner = once().handle(() => new Response('hello'));
    const limited = outer.handle((request: Request) => inner(new Request(request)));

    const { headers } = await limited(get());

    expect(headers.get('ratelimit')).toBe('"default";r=0;t=60, "outer";r=8;t=60');
  });

  it('passes errors on, thrown or rejected', async () => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 9, window: '1m' }), key: byAll(), store: still() });
    const thrown = limit.handle((): Response => {
      throw new Error('thrown');
    });
    const rejected = limit.handle(async (): Promise<Response> => Promise.reject(new Error('rejected')));

    expect(() => thrown(get())).toThrow('thrown');
    await expect(rejected(get())).rejects.toThrow('rejected');
  });

  it('returns nothing where the handler returns nothing, as one of Bun that has upgraded a request', () => {
    expect(once().handle(() => undefined)(get())).toBeUndefined();
  });

  it('sends no body to a HEAD', async () => {
    const limited = once().handle(() => new Response('hello'));
    await limited(get());

    const denied = await limited(get('/', { method: 'HEAD' }));

    expect([denied.status, denied.body, denied.headers.get('retry-after')]).toEqual([429, null, '60']);
  });

  it('answers a denial with the response of onDenied, and its fields', async () => {
    const limited = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byAll(),
      store: still(),
      onDenied: (request, response, { retryAfterMs }) =>
        Response.json({ method: request.method, response: typeof response, retryAfterMs }, { status: 420 }),
    }).handle(() => new Response('hello'));
    await limited(get());

    const denied = await limited(get());

    expect([denied.status, denied.headers.get('retry-after')]).toEqual([420, '60']);
    expect(await denied.json()).toEqual({ method: 'GET', response: 'undefined', retryAfterMs: 60_000 });
  });

  it('lets browsers of another origin read its denials with deniedHeaders', async () => {
    const limited = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byAll(),
      store: still(),
      cors: true,
      deniedHeaders: (request) => ({ 'access-control-allow-origin': request.headers.get('origin') ?? '' }),
    }).handle(() => new Response('hello'));
    const asked = { headers: { Origin: 'https://shop.example' } };
    await limited(get('/', asked));

    const { headers } = await limited(get('/', asked));

    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(headers.get('access-control-expose-headers')).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });

  it('counts by what functions find in the request, whose type they know', async () => {
    const policy = fixedWindow({ limit: 1, window: '1m' });
    const one = rateLimit({ policy, key: byUser(({ headers }) => headers.get('x-user')), store: still() });
    const two = rateLimit({
      name: 'two',
      store: still(),
      limits: [
        { name: 'user', policy, key: byUser((request) => request.headers.get('x-user')) },
        { name: 'path', policy, key: (request) => new URL(request.url).pathname },
      ],
    });
    const request = get('/x', { headers: { 'X-User': 'ann' } });

    expect(await one.keyFor(request)).toBe('ann');
    expect(await two.keyFor(request)).toEqual({ user: 'ann', path: '/x' });
  });

  it('takes deniedHeaders as Headers too, and says what is no field', () => {
    const limit = (deniedHeaders: unknown) =>
      rateLimit({
        policy: fixedWindow({ limit: 1, window: '1m' }),
        key: byAll(),
        deniedHeaders: deniedHeaders as never,
      });
    const limited = limit(new Headers({ 'X-Reason': 'slow down' })).handle(() => new Response('hello'));
    void limited(get());

    expect((limited(get()) as Response).headers.get('x-reason')).toBe('slow down');
    for (const [fields, got] of [
      [null, 'got null'],
      ['x-reason: slow down', 'got string'],
      [{ 'x reason': 'slow down' }, /got .*x reason/],
    ] as const) {
      expect(() => limit(fields)).toThrow(got);
    }
  });

  it('is an error for what is no handler', () => {
    const app = { fetch: () => new Response('hello') };

    expect(() => once().handle(app as never)).toThrow(
      'handle takes a fetch handler, a function of the request that returns a Response, got an object (Object)',
    );
    expect(() => once().handle(undefined as never)).toThrow('got undefined');
  });

  it('says that onDenied has to return a response', () => {
    const limited = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byAll(),
      onDenied: () => ({ status: 420 }),
    }).handle(() => new Response('hello'));
    void limited(get());

    expect(() => limited(get())).toThrow('onDenied must return a Response');
  });

  it('lets the handler reset what its own limit counts', async () => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 1, window: '1m' }), key: byHeader('x-user') });
    const limited = limit.handle(async (request: Request) => {
      await limit.limiter.reset(await limit.keyFor(request));
      return new Response('welcome');
    });
    const ann = { headers: { 'x-user': 'ann' } };

    expect((await limited(get('/', ann))).status).toBe(200);
    expect((await limited(get('/', ann))).status).toBe(200);
    expect(await limit.keyFor(get('/', ann))).toBe('ann');
    expect(await (await limit.limiterFor(get())).peek('ann')).toMatchObject({ remaining: 1 });
  });
});
