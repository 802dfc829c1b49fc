import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/core/testing';
import { until } from '@sluice/testkit';
import { byAll, concurrency, fixedWindow, fromNode, memoryStore, rateLimit, type RateLimit } from '@sluice/web';
import { serve } from './serve.ts';

/** A limit of this many, in a store whose time stands still. */
const limitOf = (limit: number, more: object = {}): RateLimit =>
  rateLimit({
    policy: fixedWindow({ limit, window: '1m' }),
    key: byAll(),
    store: memoryStore({ clock: fakeClock() }),
    ...more,
  });
const get = (path = '/', init: RequestInit = {}): Request => new Request(`http://test${path}`, init);
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

  it('puts the fields of several limits around a request that is made again into one list, the outer one first', async () => {
    const inner = limitOf(1).handle(async () => Promise.resolve(hello()));
    const limited = limitOf(9, { name: 'outer' }).handle((request: Request) => inner(new Request(request)));

    const answers = [await limited(get()), await limited(get())];

    expect(answers.map(({ status, headers }) => [status, headers.get('ratelimit-policy')])).toEqual([
      [200, '"outer";q=9;w=60, "default";q=1;w=60'],
      [429, '"outer";q=9;w=60, "default";q=1;w=60'],
    ]);
  });

  it('takes deniedHeaders of a function, and reports what are no fields', () => {
    const limited = limitOf(1, { deniedHeaders: ({ method }: Request) => new Headers({ 'X-Reason': method }) }).handle(
      hello,
    );
    void limited(get());

    expect((limited(get()) as Response).headers.get('x-reason')).toBe('GET');
    expect(() => limitOf(1, { deniedHeaders: 'x-reason: slow down' })).toThrow('deniedHeaders must be an object');
    expect(() => limitOf(1, { deniedHeaders: { 'x reason': 'slow down' } })).toThrow('x reason');
  });

  it.each([{ fetch: hello }, undefined])('is not made of %p', (handler) => {
    expect(() => limitOf(1).handle(handler as never)).toThrow('handle takes a fetch handler');
  });

  it('is an error if onDenied returns no response', () => {
    const limited = limitOf(1, { onDenied: () => ({ status: 420 }) }).handle(hello);
    void limited(get());

    expect(() => limited(get())).toThrow('onDenied must return a Response');
  });
});

const policy = fixedWindow({ limit: 1, window: '1m' });

describe('a checked request', () => {
  it('has fields to add and a decision, or the finished denial', async () => {
    const limit = rateLimit({ policy, key: byAll(), store: memoryStore({ clock: fakeClock() }) });

    const allowed = await limit.check(get());
    const denied = await limit.check(get());

    expect(allowed.response).toBeUndefined();
    expect(Object.fromEntries(allowed.headers ?? [])).toEqual({
      ratelimit: '"default";r=0;t=60',
      'ratelimit-policy': '"default";q=1;w=60',
    });
    expect(allowed.decision).toMatchObject({ allowed: true, remaining: 0 });
    expect([denied.response?.status, denied.response?.headers.get('retry-after')]).toEqual([429, '60']);
    expect(denied.decision).toMatchObject({ outcome: 'denied' });
  });

  it('counts with every call, but not inside of a handler that has counted it', async () => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 2, window: '1m' }), key: byAll() });
    const request = get();
    await limit.check(request);

    const inside = await limit.handle(async (same: Request) => {
      const { headers, decision } = await limit.check(same);
      return Response.json([[...(headers ?? [])], decision === undefined, request.rateLimit?.decision.remaining]);
    })(request);

    expect(await inside.json()).toEqual([[], true, 0]);
    expect((await limit.check(request)).response?.status).toBe(429);
  });

  it('has its address and its key by the context that is passed on', async () => {
    const limit = rateLimit({ policy, address: fromNode });
    const from = (remoteAddress: string) => ({ socket: { remoteAddress } });
    const request = get();

    await expect(limit.check(request)).rejects.toThrow('fromNode reads the request of Node');
    await expect(limit.keyFor(request)).rejects.toThrow('keyFor(request, info)');
    expect(await limit.keyFor(request, from('203.0.113.9'))).toBe('203.0.113.9');
    expect((await limit.check(request, from('203.0.113.1'))).response).toBeUndefined();
    expect((await limit.check(request, from('203.0.113.1'))).response?.status).toBe(429);
  });

  it('has its address inside of a handler without the option address', async () => {
    const inner = rateLimit({ policy, address: fromNode });
    const outer = rateLimit({ name: 'outer', policy, key: byAll() });
    const limited = outer.handle(async (request: Request, connection: object) => {
      const checked = inner.check(request, connection);
      return Response.json([(await checked).decision?.remaining, await inner.keyFor(request, connection)]);
    });

    const answer = await limited(get(), { socket: { remoteAddress: '203.0.113.1' } });

    expect(await answer.json()).toEqual([0, '203.0.113.1']);
  });

  it('is a Request', async () => {
    const limit = rateLimit({ policy, key: byAll() });
    const incoming = new IncomingMessage(new Socket());

    await expect(limit.check(incoming as never)).rejects.toThrow(/called with a Request.* for node:http handlers/);
    await expect(limit.keyFor(undefined as never)).rejects.toThrow('called with a Request, got undefined');
    expect(() => limit.handle(() => new Response())(incoming as never)).toThrow('called with a Request');
  });

  it('is an error for what follows the response', async () => {
    const refunding = rateLimit({ policy, key: byAll(), refund: 'on-success' });
    const holding = rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });

    await expect(refunding.check(get())).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID' });
    for (let i = 0; i < 2; i++) {
      await expect(holding.check(get())).rejects.toMatchObject({ code: 'SLUICE_ACQUIRE_NEEDED' }); // and free again
    }
  });
});

const many = { policy: fixedWindow({ limit: 100, window: '1m' }), key: byAll() } as const;
const left = (headers: Headers): string | undefined => headers.get('ratelimit')?.replaceAll(/;t=\d+/g, '');

describe('the response of a limited handler', () => {
  it('stays the same object, with its status, cookies, fields and stream', async () => {
    const headers = new Headers([
      ['Set-Cookie', 'a=1; Path=/'],
      ['Set-Cookie', 'b=2, c'],
      ['RateLimit-Reset', '9'],
    ]);
    const made = new Response(new Blob(['one ', 'two']).stream(), { status: 207, statusText: 'Several', headers });

    const answer = await rateLimit({ ...many, headers: 'draft-6' }).handle(() => made)(get());

    expect(answer).toBe(made);
    expect([answer.status, answer.statusText]).toEqual([207, 'Several']);
    expect(answer.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2, c']);
    expect(answer.headers.get('ratelimit-reset')).toBe('9');
    expect(answer.headers.get('ratelimit-limit')).toBe('100');
    expect(await answer.text()).toBe('one two');
  });

  it('keeps everything if its fields cannot be changed: redirects, and what fetch returns', async () => {
    const limit = rateLimit(many);

    const redirect = await limit.handle(() => Response.redirect('http://test/other', 303))(get());
    const fetched = await limit.handle(async () => fetch('data:text/x-own,upstream'))(get());

    expect([redirect.status, redirect.headers.get('location'), left(redirect.headers)]).toEqual([
      303,
      'http://test/other',
      '"default";r=99',
    ]);
    expect([fetched.headers.get('content-type'), left(fetched.headers)]).toEqual(['text/x-own', '"default";r=98']);
    expect(await fetched.text()).toBe('upstream');
  });

  it('has the fields of its own request alone, also if a constant is returned for several', async () => {
    const constant = new Response(null, { status: 404, headers: { RateLimit: '"upstream";r=1' } });
    const inner = rateLimit({ ...many, name: 'inner', skip: ({ url }) => url.endsWith('/free') });
    const outer = rateLimit({ ...many, skip: ({ url }) => url.endsWith('/free') });
    const limited = outer.handle(inner.handle(() => constant));

    const answers = [await limited(get()), await limited(get()), await limited(get('/free'))];

    expect(answers.map(({ headers }) => left(headers))).toEqual([
      '"default";r=99, "inner";r=99, "upstream";r=1',
      '"default";r=98, "inner";r=98, "upstream";r=1',
      '"upstream";r=1',
    ]);
    expect(answers[2]?.headers.get('ratelimit-policy')).toBeNull();
  });

  it('is left alone if it has no fields to add to: errors and upgrades', async () => {
    const error = Response.error();

    expect(await rateLimit(many).handle(() => error)(get())).toBe(error);
  });
});

describe('a slot', () => {
  const slot = (): RateLimit => rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });
  const isFree = async (limit: RateLimit): Promise<unknown> =>
    until('the slot is free', async () => (await limit.limiter.peek('*')).remaining === 1);
  const streaming = (): Response => new Response(new Blob(['one', 'two']).stream());

  it('is held until the body has been cancelled, and its source is told why', async () => {
    const limit = slot();
    const told: unknown[] = [];
    const source = new ReadableStream({ cancel: (reason) => void told.push(reason) }, { highWaterMark: 0 });
    const answer = await limit.handle(() => new Response(source))(get());

    await answer.body?.cancel('enough');
    await isFree(limit);

    expect(told).toEqual(['enough']);
  });

  it('is free after nothing was returned, as if Bun has upgraded the request', async () => {
    const limit = slot();

    expect(limit.handle(() => undefined)(get())).toBeUndefined();
    await isFree(limit);
  });

  it('is free after another response was sent instead, if the server of Node says so', async () => {
    const limit = slot();
    const limited = limit.handle(streaming);
    const { port, close } = await serve(async (request, context) => {
      await limited(request, context);
      return new Response('too late', { status: 504 }); // as a time limit around the handler
    });

    const answer = await fetch(`http://127.0.0.1:${String(port)}/`);
    await answer.text();

    await isFree(limit);
    expect(answer.status).toBe(504);
    await close();
  });

  it('lets no more of a body be read than is asked for', async () => {
    let read = 0;
    const pull = (controller: ReadableStreamDefaultController): void => {
      read++;
      controller.enqueue(new Uint8Array(1));
    };
    const source = new ReadableStream({ pull }, { highWaterMark: 0 });
    const { body } = await slot().handle(() => new Response(source))(get());
    const before = read;

    await body?.getReader().read();

    expect([before, read]).toEqual([0, 1]);
  });
});

describe('units', () => {
  it('are given back when the body has been read, by a function of request and response', async () => {
    const limit = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byAll(),
      refund: (request, response) => request.method === 'GET' && response.headers.get('x-cached') === 'yes',
    });
    const answer = await limit.handle(() => new Response('hello', { headers: { 'X-Cached': 'yes' } }))(get());
    const before = await limit.limiter.peek('*');

    await answer.text();

    await until('the unit is back', async () => (await limit.limiter.peek('*')).remaining === 1);
    expect(before.remaining).toBe(0);
  });
});
