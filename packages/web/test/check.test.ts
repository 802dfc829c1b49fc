import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { fakeClock } from '@sluice/testkit';
import { byAll, concurrency, fixedWindow, fromNode, memoryStore, rateLimit, type Store } from '@sluice/web';

const get = (): Request => new Request('http://test/');
const policy = fixedWindow({ limit: 1, window: '1m' });
const failing: Store = { source: 'redis', perform: async () => Promise.reject(new Error('connection lost')) };

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

  it('is 503 while the store is away and the limit fails closed', async () => {
    const limit = rateLimit({ policy, key: byAll(), store: failing, onStoreError: 'deny' });

    expect((await limit.check(get())).response?.status).toBe(503);
  });

  it('has no fields and no decision where no limit applies', async () => {
    const limit = rateLimit({ policy, key: byAll(), skip: () => true });

    const { headers, decision } = await limit.check(get());

    expect([[...(headers ?? [])], decision]).toEqual([[], undefined]);
  });

  it('counts with every call, and not inside of a handler that has counted it', async () => {
    const limit = rateLimit({ policy: fixedWindow({ limit: 2, window: '1m' }), key: byAll() });
    const request = get();
    await limit.check(request);

    const inside = await limit.handle(async (same: Request) => {
      const { headers, decision } = await limit.check(same);
      return Response.json([[...(headers ?? [])], decision?.remaining]);
    })(request);

    expect(await inside.json()).toEqual([[], 0]);
    expect((await limit.check(request)).response?.status).toBe(429);
  });

  it('reads the address from the context that is passed on', async () => {
    const limit = rateLimit({ policy, address: fromNode });
    const from = (remoteAddress: string) => ({ socket: { remoteAddress } });

    const statuses = [];
    for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.1']) {
      statuses.push((await limit.check(get(), from(address))).response?.status);
    }

    expect(statuses).toEqual([undefined, undefined, 429]);
    expect(await limit.keyFor(get(), from('203.0.113.9'))).toBe('203.0.113.9');
    await expect(limit.check(get())).rejects.toThrow('fromNode reads the request of Node');
  });

  it('has a key once the context is passed on', async () => {
    const limit = rateLimit({ policy, address: fromNode });
    const request = get();

    await expect(limit.keyFor(request)).rejects.toThrow('keyFor(request, info)');
    expect(await limit.keyFor(request, { socket: { remoteAddress: '203.0.113.9' } })).toBe('203.0.113.9');
  });

  it('is a Request', async () => {
    const limit = rateLimit({ policy, key: byAll() });

    const message = /called with a Request, got an object \(IncomingMessage\); for handlers of node:http/;
    const incoming = new IncomingMessage(new Socket());
    await expect(limit.check(incoming as never)).rejects.toThrow(message);
    await expect(limit.keyFor(incoming as never)).rejects.toThrow(message);
    expect(() => limit.handle(() => new Response())(incoming as never)).toThrow(message);
    await expect(limit.check(undefined as never)).rejects.toThrow('got undefined');
  });

  it('is an error for what follows the response', async () => {
    const refunding = rateLimit({ policy, key: byAll(), refund: 'on-success', store: memoryStore() });
    const holding = rateLimit({ policy: concurrency({ limit: 1, ttl: '1m' }), key: byAll() });

    await expect(refunding.check(get())).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID', field: 'refund' });
    await expect(holding.check(get())).rejects.toMatchObject({ code: 'SLUICE_ACQUIRE_NEEDED' });
    await expect(holding.check(get())).rejects.toThrow('handle(handler)');
  });
});
