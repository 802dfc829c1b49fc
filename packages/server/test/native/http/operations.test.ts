import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Store } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import { serveHttp, type Answer, type HttpService } from './http-service.ts';

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  burst: { tokenBucket: { capacity: 100, refill: 100, every: 1h } }
  jobs: { concurrency: { limit: 2, ttl: 1m } }
  hour: { slidingWindow: { limit: 3, window: 1h } }
`;
const TOKEN = 'a token of the tests';

const redis = useRedis();
const running: HttpService[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()));
});
let stores = 0;

interface Fielded {
  readonly fields: Readonly<Record<string, string>>;
}

describe.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis.client, { prefix: `sluice:s${String(stores++)}` })],
])('/v1 on %s', (_kind, makeStore) => {
  async function serve(store = makeStore()): Promise<HttpService> {
    const service = await serveHttp(LIMITS, { store, token: TOKEN });
    running.push(service);
    return service;
  }

  it('consumes and peeks', async () => {
    const { post } = await serve();
    const first = await post('consume', { keys: { login: '42' }, cost: 3 });
    const looked = await post('peek', { keys: { login: '42' }, cost: 3 });
    const second = await post('consume', { keys: { login: '42' }, cost: 2 });
    const denied = await post('consume', { keys: { login: '42' } });

    expect(first).toMatchObject({
      status: 200,
      body: { allowed: true, policy: 'login', limit: 5, remaining: 2, used: 3 },
    });
    expect(looked).toMatchObject({ status: 200, body: { allowed: false, outcome: 'denied', remaining: 2, used: 3 } });
    expect(second).toMatchObject({ body: { allowed: true, remaining: 0, retryAfterMs: 0 } });
    expect(denied).toMatchObject({ status: 200, body: { allowed: false, outcome: 'denied', used: 5 } });
  });

  it('gives the header fields to copy onto a response', async () => {
    const { post } = await serve();
    const keys = { login: 'of fields', burst: 'of fields' };
    const [allowed, slots] = [await post('consume', { keys }), await post('acquire', { keys: { jobs: 'of fields' } })];
    const never = await post('peek', { keys: { login: 'of fields' }, cost: 6 });
    await post('block', { keys: { login: 'of fields' }, duration: '1h' }, { authorization: `Bearer ${TOKEN}` });
    const blocked = await post('peek', { keys: { login: 'of fields' } });

    expect(allowed.body).toMatchObject({
      fields: {
        'RateLimit-Policy': '"login";q=5;w=3600, "burst";q=100;w=3600',
        RateLimit: expect.stringMatching(/^"login";r=4;t=\d+, "burst";r=99;t=\d+$/),
      },
    });
    expect(Object.keys((allowed.body as Fielded).fields)).toHaveLength(2);
    expect(slots.body).toMatchObject({ decision: { fields: { RateLimit: '"jobs";r=1' } } });
    expect(Object.keys((never.body as Fielded).fields)).toEqual(['RateLimit-Policy', 'RateLimit', 'Cache-Control']);
    expect(blocked.body).toMatchObject({
      fields: { 'Cache-Control': 'no-store', 'Retry-After': expect.stringMatching(/^3\d{3}$/) },
    });
  });

  it('decides over several limits together, or takes nothing', async () => {
    const { post } = await serve();
    for (let i = 0; i < 3; i++) await post('consume', { keys: { hour: 'a' } });
    const denied = await post('consume', { keys: { login: 'b', hour: 'a' } });
    const left = await post('peek', { keys: { login: 'b' } });

    expect(denied).toMatchObject({ body: { allowed: false, policy: 'hour' } });
    expect((denied.body as { policies: unknown[] }).policies).toHaveLength(2);
    expect(left).toMatchObject({ body: { used: 0 } });
  });

  it('counts in the state of a limiter named service that has such a limit', async () => {
    const store = makeStore();
    const { post } = await serve(store);
    const limits = [{ name: 'login', policy: fixedWindow({ limit: 5, window: '1h' }) }];
    const limiter = createLimiter({ name: 'service', limits, store, shared: true });
    await limiter.consume({ login: '42' }, 4);

    expect(await post('consume', { keys: { login: '42' } })).toMatchObject({ body: { remaining: 0 } });
    await limiter.close();
  });

  it('refunds, charges, resets, blocks and unblocks', async () => {
    const { post } = await serve();
    const keys = { login: '42' };
    const used = async (): Promise<unknown> => ((await post('peek', { keys })).body as { used: number }).used;
    const outcome = async (): Promise<unknown> => ((await post('peek', { keys })).body as { outcome: string }).outcome;

    expect((await post('charge', { keys, cost: 7 })).status).toBe(204);
    expect(await used()).toBe(7);
    expect((await post('refund', { keys, cost: 4 })).status).toBe(204);
    expect(await used()).toBe(3);
    expect((await post('refund', { keys })).status).toBe(204);
    expect(await used()).toBe(2);
    expect((await post('block', { keys, duration: '1m' })).status).toBe(204);
    expect(await outcome()).toBe('blocked');
    expect((await post('unblock', { keys })).status).toBe(204);
    expect([await outcome(), await used()]).toEqual(['allowed', 2]);
    expect((await post('reset', { keys })).status).toBe(204);
    expect(await used()).toBe(0);
    await post('charge', { keys, cost: 1 });
    expect((await post('block', { keys, duration: 60_000, reset: true })).status).toBe(204);
    await post('unblock', { keys });
    expect(await used()).toBe(0);
  });

  it.each([
    [10, 10],
    [4, 4],
    [0, 0],
    [25, 25],
  ])('settles a reservation of 10 at %i units, by any process, once', async (actual, expected) => {
    const store = makeStore();
    const [one, other] = [await serve(store), await serve(store)];
    const keys = { burst: '42' };
    const { body } = await one.post('reserve', { keys, estimate: 10 });
    const { reservation, decision } = body as { reservation: string; decision: unknown };
    for (const service of [other, one, other]) {
      expect((await service.post('settle', { reservation, actual })).status).toBe(204);
    }

    expect(decision).toMatchObject({ allowed: true, remaining: 90 });
    expect(await one.post('peek', { keys })).toMatchObject({ body: { used: expected } });
  });

  it('settles over all limits of a reservation', async () => {
    const { post } = await serve();
    const keys = { hour: 'a', burst: 'b' };
    const { body } = await post('reserve', { keys, estimate: 3 });
    await post('settle', { reservation: (body as { reservation: string }).reservation, actual: 1 });

    expect(await post('peek', { keys: { hour: 'a' } })).toMatchObject({ body: { used: 1 } });
    expect(await post('peek', { keys: { burst: 'b' } })).toMatchObject({ body: { used: 1 } });
  });

  it('has nothing to settle where a reservation is denied', async () => {
    const { post } = await serve();

    expect(await post('reserve', { keys: { login: '42' }, estimate: 6 })).toMatchObject({
      status: 200,
      body: { decision: { allowed: false, retryAfterMs: null }, reservation: null },
    });
  });

  it('acquires, renews and releases slots, by any process', async () => {
    const store = makeStore();
    const [one, other] = [await serve(store), await serve(store)];
    const acquire = (service: HttpService, holder?: string): Promise<Answer> =>
      service.post('acquire', { keys: { jobs: 'x' }, ...(holder === undefined ? {} : { holder }) });
    const slotOf = ({ body }: Answer): string | null => (body as { slot: string | null }).slot;
    const first = await acquire(one);
    const second = await acquire(other, 'worker-7');
    const again = await acquire(one, 'worker-7');
    const third = await acquire(other);

    expect([first, second, again]).toMatchObject(Array(3).fill({ body: { decision: { allowed: true } } }));
    expect(slotOf(again)).toBe(slotOf(second));
    expect(third).toMatchObject({ status: 200, body: { decision: { allowed: false }, slot: null } });
    expect(await other.post('renew', { slot: slotOf(first) })).toMatchObject({ status: 200, body: { held: true } });
    expect((await other.post('release', { slot: slotOf(first) })).status).toBe(204);
    expect((await one.post('release', { slot: slotOf(first) })).status).toBe(204);
    expect(await one.post('renew', { slot: slotOf(first) })).toMatchObject({ body: { held: false } });
    expect(await acquire(other)).toMatchObject({ body: { decision: { allowed: true } } });
    expect(await acquire(other)).toMatchObject({ body: { decision: { allowed: false } } });
  });

  it('holds slots beside units of other limits, and renews the slots', async () => {
    const { post } = await serve();
    const { body } = await post('acquire', { keys: { hour: 'a', jobs: 'x' } });
    const { slot } = body as { slot: string };

    expect(await post('renew', { slot })).toMatchObject({ body: { held: true } });
    await post('release', { slot });
    expect(await post('renew', { slot })).toMatchObject({ body: { held: false } });
    expect(await post('peek', { keys: { hour: 'a' } })).toMatchObject({ body: { used: 1 } });
  });
});

describe('a reload', () => {
  it('applies to the next request, and keeps what was used', async () => {
    const service = await serveHttp(LIMITS, { token: TOKEN });
    running.push(service);
    await service.post('consume', { keys: { login: '42' }, cost: 4 });
    service.reload(LIMITS.replace('limit: 5', 'limit: 4').replace('hour:', 'day:'));

    expect(await service.post('consume', { keys: { login: '42' } })).toMatchObject({
      body: { allowed: false, limit: 4 },
    });
    expect((await service.post('consume', { keys: { hour: 'a' } })).status).toBe(404);
    expect((await service.post('consume', { keys: { day: 'a' } })).status).toBe(200);
  });

  it('leaves nothing to settle or release of a limit that is not there any more', async () => {
    const service = await serveHttp(LIMITS, { token: TOKEN });
    running.push(service);
    const { reservation } = (await service.post('reserve', { keys: { burst: 'a' }, estimate: 2 })).body as Record<
      string,
      string
    >;
    const { slot } = (await service.post('acquire', { keys: { jobs: 'a' } })).body as Record<string, string>;
    service.reload('limits: { other: { fixedWindow: { limit: 1, window: 1m } } }');

    expect(await service.post('settle', { reservation, actual: 1 })).toMatchObject({ status: 409 });
    expect(await service.post('release', { slot })).toMatchObject({ status: 409 });
  });
});
