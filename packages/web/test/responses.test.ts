import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byAll, concurrency, fixedWindow, rateLimit } from '@sluice/web';
import { until } from '@sluice/testkit';
import { serve } from './serve.ts';

const get = (init: RequestInit = {}): Request => new Request('http://test/', init);
const many = { policy: fixedWindow({ limit: 100, window: '1m' }), key: byAll() } as const;

describe('the response of a limited handler', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((_request, response) => {
      response.writeHead(201, 'Made', [
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['X-Total', '7'],
      ] as never);
      response.end('upstream');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('stays the same object, with its status, cookies and stream', async () => {
    const headers = new Headers([
      ['Set-Cookie', 'a=1; Path=/'],
      ['Set-Cookie', 'b=2, c'],
      ['RateLimit-Reset', '9'],
    ]);
    const made = new Response(new Blob(['one ', 'two']).stream(), {
      status: 207,
      statusText: 'Several',
      headers,
    });

    const answer = await rateLimit({ ...many, headers: 'draft-6' }).handle(() => made)(get());

    expect(answer).toBe(made);
    expect([answer.status, answer.statusText]).toEqual([207, 'Several']);
    expect(answer.headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2, c']);
    expect(answer.headers.get('ratelimit-reset')).toBe('9'); // its own
    expect(answer.headers.get('ratelimit-limit')).toBe('100');
    expect(await answer.text()).toBe('one two');
  });

  it('keeps everything where its fields cannot be changed: redirects, and what fetch returns', async () => {
    const limit = rateLimit(many);

    const redirect = await limit.handle(() => Response.redirect('http://test/other', 303))(get());
    const fetched = await limit.handle(async () => fetch(url))(get());

    expect([redirect.status, redirect.headers.get('location')]).toEqual([303, 'http://test/other']);
    expect(redirect.headers.get('ratelimit')).toMatch(/^"default";r=99/);
    expect([fetched.status, fetched.statusText, fetched.headers.get('x-total')]).toEqual([201, 'Made', '7']);
    expect(fetched.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(fetched.headers.get('ratelimit')).toMatch(/^"default";r=98/);
    expect(await fetched.text()).toBe('upstream');
  });

  it('has the fields of its own request where a constant is returned for several', async () => {
    const constant = new Response(null, { status: 404, headers: { RateLimit: '"upstream";r=1' } });
    const limited = rateLimit(many).handle(() => constant);

    const answers = [await limited(get()), await limited(get()), await limited(get())];

    expect(answers.map(({ headers }) => headers.get('ratelimit')?.replace(/;t=\d+/, ''))).toEqual([
      '"upstream";r=1, "default";r=99',
      '"upstream";r=1, "default";r=98',
      '"upstream";r=1, "default";r=97',
    ]);
  });

  it('has no fields of an earlier request where no limit applies to its own', async () => {
    const constant = new Response(null, { status: 204, headers: { RateLimit: '"upstream";r=1' } });
    const limited = rateLimit({ ...many, skip: ({ url }) => url.endsWith('/skipped') }).handle(() => constant);
    await limited(get());

    const { headers } = await limited(new Request('http://test/skipped'));

    expect(Object.fromEntries(headers)).toEqual({ ratelimit: '"upstream";r=1' });
  });

  it('is left alone where it has no fields to add to: errors and upgrades', async () => {
    const error = Response.error();

    expect(await rateLimit(many).handle(() => error)(get())).toBe(error);
  });

  it('exposes the fields where any of several limits says so', async () => {
    const headers = { 'Access-Control-Allow-Origin': '*' };
    const [outer, inner] = [rateLimit({ ...many, name: 'outer' }), rateLimit({ ...many, name: 'inner', cors: true })];

    const answer = await outer.handle(inner.handle(() => new Response('', { headers })))(get());

    expect(answer.headers.get('access-control-expose-headers')).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });
});

describe('a slot', () => {
  const limit = () => rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });
  const streaming = (): Response => new Response(new Blob(['one', 'two']).stream());

  it('is held until the body has been read', async () => {
    const one = limit();
    const limited = one.handle(streaming);
    const first = await limited(get());

    const during = await limited(get());
    const text = await first.text();
    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);

    expect([first.status, during.status, text]).toEqual([200, 429, 'onetwo']);
  });

  it('is held until the body has been cancelled, and tells its source', async () => {
    const one = limit();
    const told: unknown[] = [];
    const limited = one.handle(
      () => new Response(new ReadableStream({ cancel: (reason) => void told.push(reason) }, { highWaterMark: 0 })),
    );
    const first = await limited(get());

    await first.body?.cancel('enough');

    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);
    expect(told).toEqual(['enough']);
  });

  it.each([
    ['a response without a body', () => new Response(null, { status: 204 }), {}],
    ['the answer to a HEAD', streaming, { method: 'HEAD' }],
  ])('is free after %s', async (_what, handler, init) => {
    const one = limit();

    await one.handle(handler)(get(init));

    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);
  });

  it('is free after an error, and when the client leaves', async () => {
    const one = limit();
    const left = new AbortController();
    const failing = one.handle((): Response => {
      throw new Error('broken');
    });

    expect(() => failing(get())).toThrow('broken');
    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);
    const answer = await one.handle(streaming)(get({ signal: left.signal }));
    expect((await one.limiter.peek('*')).remaining).toBe(0);
    left.abort();

    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);
    expect(answer.status).toBe(200);
  });

  it('is free after another response was sent instead, where the server of Node says so', async () => {
    const one = limit();
    const limited = one.handle(streaming);
    // As a time limit around the handler does.
    const app = await serve(async (request, context) => {
      await limited(request, context);
      return new Response('too late', { status: 504 });
    });

    const answer = await fetch(`http://127.0.0.1:${String(app.port)}/`);
    await answer.text();
    const startMs = performance.now();
    await until('the slot is free', async () => (await one.limiter.peek('*')).remaining === 1);

    expect(answer.status).toBe(504);
    expect(performance.now() - startMs).toBeLessThan(2000); // a client closes an idle connection after 4 s
    await app.close();
  });

  it('reads no more of a body than is asked for', async () => {
    let read = 0;
    const source = new ReadableStream(
      {
        pull(controller) {
          read++;
          controller.enqueue(new Uint8Array(1));
        },
      },
      { highWaterMark: 0 },
    );
    const answer = await limit().handle(() => new Response(source))(get());
    await new Promise(setImmediate);
    expect(read).toBe(0);

    const reader = answer.body?.getReader();
    await reader?.read();

    expect(read).toBe(1);
    await reader?.cancel();
  });
});

describe('units', () => {
  it.each([
    ['on-success', 200, 1],
    ['on-success', 500, 0],
    ['on-failure', 500, 1],
  ] as const)('are given back %s after a response with %i: %i left', async (refund, status, left) => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 1, window: '1m' }), key: byAll(), refund });

    const answer = await limit.handle(() => new Response('hello', { status }))(get());
    expect((await limit.limiter.peek('*')).remaining).toBe(0); // until its body has been read
    await answer.text();
    await new Promise(setImmediate);

    expect((await limit.limiter.peek('*')).remaining).toBe(left);
  });

  it('are given back by a function of request and response', async () => {
    const limit = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      key: byAll(),
      refund: (request, response) => request.method === 'GET' && response.headers.get('x-cached') === 'yes',
    });

    await (await limit.handle(() => new Response('hello', { headers: { 'X-Cached': 'yes' } }))(get())).text();
    await new Promise(setImmediate);

    expect((await limit.limiter.peek('*')).remaining).toBe(1);
  });
});
