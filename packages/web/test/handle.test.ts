import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/core/testing';
import { byAll, byHeader, byUser, fixedWindow, memoryStore, rateLimit, type RateLimit } from '@sluice/web';

/** A limit of this many, in a store whose time stands still. */
const limitOf = (limit: number, more: object = {}): RateLimit =>
  rateLimit({
    policy: fixedWindow({ limit, window: '1m' }),
    key: byAll(),
    store: memoryStore({ clock: fakeClock() }),
    ...more,
  });
const get = (init: RequestInit = {}): Request => new Request('http://test/', init);
const hello = () => new Response('hello');

describe('a limited handler', () => {
  it('answers with fields, then denies, without a promise', () => {
    const limited = limitOf(1).handle(hello);

    const [allowed, denied] = [limited(get()), limited(get())] as [Response, Response];

    expect([allowed.status, allowed.headers.get('ratelimit')]).toEqual([200, '"default";r=0;t=60']);
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '60']);
  });

  it('gets all arguments, and the decision on the request', async () => {
    const limited = limitOf(1).handle((request: Request, params: { readonly id: string }) =>
      Response.json([params.id, request.rateLimit?.key, request.rateLimit?.decision.remaining]),
    );

    const answer = await limited(get(), { id: '7' });

    expect(await answer.json()).toEqual(['7', '*', 0]);
  });

  it('counts a request that is sent again, and one in a handler inside of another once', async () => {
    const two = limitOf(2);
    const limited = two.handle(two.handle(hello));
    const request = get();

    const statuses = [
      (await limited(request)).status,
      (await limited(request)).status,
      (await limited(request)).status,
    ];

    expect(statuses).toEqual([200, 200, 429]);
  });

  it.each([
    ['the same request', (request: Request) => request],
    ['a request that is made again', (request: Request) => new Request(request)],
  ])('puts the fields of several limits around %s into one list, the outer one first', async (_what, pass) => {
    const inner = limitOf(1).handle(async () => Promise.resolve(hello()));
    const limited = limitOf(9, { name: 'outer' }).handle((request: Request) => inner(pass(request)));

    const answers = [await limited(get()), await limited(get())];

    expect(answers.map(({ status, headers }) => [status, headers.get('ratelimit-policy')])).toEqual([
      [200, '"outer";q=9;w=60, "default";q=1;w=60'],
      [429, '"outer";q=9;w=60, "default";q=1;w=60'],
    ]);
  });

  it('passes errors on, thrown or rejected', async () => {
    const thrown = limitOf(9).handle((): Response => {
      throw new Error('thrown');
    });
    const rejected = limitOf(9).handle(async (): Promise<Response> => Promise.reject(new Error('rejected')));

    expect(() => thrown(get())).toThrow('thrown');
    await expect(rejected(get())).rejects.toThrow('rejected');
  });

  it('returns nothing if the handler returns nothing, as one of Bun that has upgraded a request', () => {
    expect(limitOf(1).handle(() => undefined)(get())).toBeUndefined();
  });

  it('denies with deniedHeaders, so that browsers of another origin can read it', async () => {
    const limited = limitOf(1, {
      cors: true,
      deniedHeaders: (request: Request) => ({ 'access-control-allow-origin': request.headers.get('origin') }),
    }).handle(hello);
    const asked = { headers: { Origin: 'https://shop.example' } };
    await limited(get(asked));

    const { headers } = await limited(get(asked));

    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(headers.get('access-control-expose-headers')).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });

  it('takes deniedHeaders as Headers too, and reports what are no fields', () => {
    const limited = limitOf(1, { deniedHeaders: new Headers({ 'X-Reason': 'slow down' }) }).handle(hello);
    void limited(get());

    expect((limited(get()) as Response).headers.get('x-reason')).toBe('slow down');
    expect(() => limitOf(1, { deniedHeaders: 'x-reason: slow down' })).toThrow('deniedHeaders must be an object');
    expect(() => limitOf(1, { deniedHeaders: { 'x reason': 'slow down' } })).toThrow('x reason');
  });

  it.each([{ fetch: hello }, undefined])('is not made of %p', (handler) => {
    expect(() => limitOf(1).handle(handler as never)).toThrow('handle takes a fetch handler');
  });

  it('denies with its own status if onDenied returns a response without one', async () => {
    const limited = limitOf(1, { onDenied: () => Response.json({ error: 'slow down' }) }).handle(hello);
    void limited(get());

    const denied = limited(get()) as Response;

    expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await denied.json()).toEqual({ error: 'slow down' });
  });

  it('is an error if onDenied returns no response', () => {
    const limited = limitOf(1, { onDenied: () => ({ status: 420 }) }).handle(hello);
    void limited(get());

    expect(() => limited(get())).toThrow('onDenied must return a Response');
  });

  it('can reset what its own limit counts', async () => {
    const limit = limitOf(1, { key: byHeader('x-user') });
    const limited = limit.handle(async (request: Request) => {
      await limit.limiter.reset(await limit.keyFor(request));
      return new Response('welcome');
    });
    const ann = { headers: { 'x-user': 'ann' } };

    expect([(await limited(get(ann))).status, (await limited(get(ann))).status]).toEqual([200, 200]);
  });

  it('counts by what functions find in the request, whose type they know', async () => {
    const policy = fixedWindow({ limit: 1, window: '1m' });
    const one = rateLimit({ policy, key: byUser(({ headers }) => headers.get('x-user')) });
    const two = rateLimit({
      name: 'two',
      limits: [
        { name: 'user', policy, key: byUser((request) => request.headers.get('x-user')) },
        { name: 'path', policy, key: (request) => new URL(request.url).pathname },
      ],
    });
    const request = get({ headers: { 'X-User': 'ann' } });

    expect([await one.keyFor(request), await two.keyFor(request)]).toEqual(['ann', { user: 'ann', path: '/' }]);
  });
});
