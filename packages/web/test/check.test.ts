import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/core/testing';
import { byAll, concurrency, fixedWindow, fromNode, memoryStore, rateLimit } from '@sluice/web';

const get = (): Request => new Request('http://test/');
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

    await expect(limit.check(incoming as never)).rejects.toThrow(/called with a Request.* for handlers of node:http/);
    await expect(limit.keyFor(undefined as never)).rejects.toThrow('called with a Request, got undefined');
    expect(() => limit.handle(() => new Response())(incoming as never)).toThrow('called with a Request');
  });

  it('is an error for what follows the response', async () => {
    const refunding = rateLimit({ policy, key: byAll(), refund: 'on-success' });
    const holding = rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });

    await expect(refunding.check(get())).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID' });
    await expect(holding.check(get())).rejects.toMatchObject({ code: 'SLUICE_ACQUIRE_NEEDED' });
  });
});
