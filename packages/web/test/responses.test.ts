import { describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { byAll, concurrency, fixedWindow, rateLimit, type RateLimit } from '@sluice/web';
import { serve } from './serve.ts';

const get = (path = '/'): Request => new Request(`http://test${path}`);
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

  it('is held until the body has been read', async () => {
    const limit = slot();
    const limited = limit.handle(streaming);
    const first = await limited(get());

    const during = await limited(get());
    const text = await first.text();
    await isFree(limit);

    expect([first.status, during.status, text]).toEqual([200, 429, 'onetwo']);
  });

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

    await limit.handle(() => undefined)(get());

    await isFree(limit);
  });

  it('is free after an error, and when the client leaves', async () => {
    const limit = slot();
    const client = new AbortController();
    const failing = limit.handle((): Response => {
      throw new Error('broken');
    });
    expect(() => failing(get())).toThrow('broken');
    await isFree(limit);
    await limit.handle(streaming)(new Request('http://test/', { signal: client.signal }));
    expect((await limit.limiter.peek('*')).remaining).toBe(0);

    client.abort();

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
