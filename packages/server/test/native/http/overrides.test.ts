import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, redisStore } from '@sluice/old-core';
import { createPolicies, type Policies } from '@sluice/old-managed';
import { until, useRedis } from '@sluice/testkit';
import { serveHttp, type Answer, type HttpService, type HttpServiceOptions } from './http-service.ts';

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  orders: { managed: orders-of-shops }
`;
const TOKEN = 'a-token-of-the-tests';
const redis = useRedis();
const running: HttpService[] = [];
let policies: Policies;

beforeEach(async () => {
  await redis.admin.flushall();
  policies = createPolicies(redis.admin, { prefix: 'sluice' });
  await policies.put('orders-of-shops', fixedWindow({ limit: 5, window: '1h' }), { apps: ['sluice-server'] });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.close()));
  await policies.close();
});

async function serve(options: HttpServiceOptions = {}): Promise<HttpService> {
  const service = await serveHttp(LIMITS, { store: redisStore(redis.admin, { prefix: 'sluice' }), ...options });
  running.push(service);
  return service;
}

interface Asked {
  readonly method?: 'GET' | 'PUT' | 'DELETE' | 'POST';
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask({ request }: HttpService, { method = 'GET', query = {}, body, headers = {} }: Asked): Promise<Answer> {
  return request(`/v1/overrides?${new URLSearchParams(query).toString()}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const fifty = { fixedWindow: { limit: 50, window: '1h' } };
const ann = { limit: 'orders', key: 'ann' };
const audit = { by: 'eve', reason: 'a sale' };

describe('/v1/overrides', () => {
  it('gives a key other numbers, and lists who did it, when and why', async () => {
    const service = await serve();
    await service.post('consume', { keys: { orders: 'ann' }, cost: 2 });

    const put = await ask(service, { method: 'PUT', body: { ...ann, policy: fifty, ...audit } });
    const listed = await ask(service, { query: { limit: 'orders' } });
    const used = { used: 2, limit: 50 };
    await until('it is in force', async () => {
      const { body } = await service.post('peek', { keys: { orders: 'ann' } });
      return (body as typeof used).limit === 50;
    });

    expect(put).toMatchObject({ status: 200, body: { change: 'created', before: { limit: 5 }, ...audit } });
    expect(listed.body).toMatchObject({
      overrides: [{ name: 'orders-of-shops', target: 'ann', changedAtMs: expect.any(Number), ...audit }],
      hasMore: false,
    });
    expect((await service.post('peek', { keys: { orders: 'ann' } })).body).toMatchObject(used);
    expect((await service.post('peek', { keys: { orders: 'bob' } })).body).toMatchObject({ limit: 5 });
  });

  it('takes prefixes, an end, and a policy as it answers it', async () => {
    const service = await serve();
    const body = { limit: 'orders', prefix: 'org-7:', policy: fifty, until: '2100-01-01T00:00:00Z' };
    const put = await ask(service, { method: 'PUT', body });

    const { policy } = put.body as { policy: unknown };
    const again = await ask(service, { method: 'PUT', body: { ...body, policy } });

    expect(put.body).toMatchObject({ target: { prefix: 'org-7:' }, untilMs: Date.UTC(2100, 0), by: null });
    expect(again.body).toMatchObject({ change: 'unchanged' });
  });

  it('changes nothing with dryRun', async () => {
    const service = await serve();

    const planned = await ask(service, { method: 'PUT', body: { ...ann, policy: fifty, dryRun: true } });

    expect(planned.body).toMatchObject({ change: 'created', policy: { limit: 50 }, before: { limit: 5 } });
    expect((await ask(service, { query: { limit: 'orders' } })).body).toEqual({ overrides: [], hasMore: false });
  });

  it('keeps who removed one, and why', async () => {
    const service = await serve();
    await ask(service, { method: 'PUT', body: { ...ann, policy: fifty } });

    const removed = await ask(service, { method: 'DELETE', query: { ...ann, by: 'bob', reason: 'it has ended' } });
    const again = await ask(service, { method: 'DELETE', query: ann });
    const ended = await ask(service, { query: { limit: 'orders', ended: 'true' } });

    expect([removed.body, again.body]).toEqual([{ removed: true }, { removed: false }]);
    expect(ended.body).toMatchObject({ overrides: [{ policy: null, by: 'bob', reason: 'it has ended' }] });
  });

  it('lists a thousand, and says that there are more', async () => {
    const service = await serve();
    const fields = [];
    const record = {
      format: 1,
      version: 1,
      policy: fixedWindow({ limit: 9, window: '1h' }),
      changedAtMs: 1,
      earlier: [],
    };
    for (let i = 0; i < 1002; i++) fields.push([i, `orders-of-shops:key:k${String(i)}`] as const);
    const key = 'sluice:{#overrides}:';
    await redis.admin.hset(
      `${key}records`,
      Object.fromEntries(fields.map(([, name]) => [name, JSON.stringify(record)])),
    );
    await redis.admin.zadd(`${key}changes`, ...fields.flatMap(([i, name]) => [i + 1, name]));

    const { body: all } = await ask(service, { query: { limit: 'orders' } });
    const { body: some } = await ask(service, { query: { limit: 'orders', startsWith: 'k100' } });

    expect(all).toMatchObject({ overrides: { length: 1000 }, hasMore: true });
    expect(some).toMatchObject({ overrides: { length: 3 }, hasMore: false });
  });

  it('lists those that concern a key, first the one that counts', async () => {
    const service = await serve();
    await ask(service, { method: 'PUT', body: { limit: 'orders', prefix: 'org-7:', policy: fifty } });
    await ask(service, { method: 'PUT', body: { limit: 'orders', key: 'org-7:ann', policy: fifty } });
    await ask(service, { method: 'PUT', body: { limit: 'orders', key: 'org-8:ann', policy: fifty } });

    const { body } = await ask(service, { query: { limit: 'orders', key: 'org-7:ann' } });

    expect(body).toMatchObject({ overrides: [{ target: 'org-7:ann' }, { target: { prefix: 'org-7:' } }] });
  });

  it('needs the token on a listener that others reach', async () => {
    const service = await serve({ isPrivate: false, token: TOKEN });
    const query = { limit: 'orders' };

    const without = [
      await ask(service, { query }),
      await ask(service, { method: 'PUT', body: { ...ann, policy: fifty } }),
      await ask(service, { method: 'DELETE', query: ann }),
    ];
    const withToken = await ask(service, { query, headers: { authorization: `Bearer ${TOKEN}` } });

    expect([...without, withToken].map(({ status }) => status)).toEqual([401, 401, 401, 200]);
  });

  it('takes nothing from a page of another origin', async () => {
    const service = await serve();
    const headers = { origin: 'http://page.example' };

    expect(await ask(service, { method: 'DELETE', query: ann, headers })).toMatchObject({ status: 403 });
  });

  it.each<[Asked, number, string]>([
    [{ query: { limit: 'login' } }, 409, 'the limit login is of the configuration: write its overrides there'],
    [{ query: { limit: 'orderz' } }, 404, 'there is no limit named "orderz"'],
    [{}, 400, 'the field limit is missing'],
    [{ query: { limit: 'orders', ended: 'yes' } }, 400, 'ended must be true or false, got "yes"'],
    [{ query: { limit: 'orders', key: 'a', prefix: 'b' } }, 400, 'write either key or prefix'],
    [{ method: 'DELETE', query: { limit: 'orders' } }, 400, 'write either key or prefix'],
    [{ method: 'DELETE', query: { ...ann, who: 'eve' } }, 400, 'there is no field "who"'],
    [{ method: 'DELETE', query: { ...ann, reason: '' } }, 400, 'reason must be a text of 1 to 1000 characters'],
    [{ method: 'PUT', body: { ...ann } }, 400, 'the field policy is missing'],
    [{ method: 'PUT', body: { ...ann, policy: 5 } }, 400, 'policy must be an object with one of fixedWindow'],
    [{ method: 'PUT', body: { ...ann, policy: { fixedWindow: { limit: -1, window: '1h' } } } }, 400, 'limit must be'],
    [{ method: 'PUT', body: { ...ann, policy: { algorithm: 'none' } } }, 400, 'known algorithms: fixedWindow'],
    [
      { method: 'PUT', body: { ...ann, policy: { tokenBucket: { capacity: 1, refill: 1, every: '1s' } } } },
      400,
      'policy must be a fixedWindow',
    ],
    [{ method: 'PUT', body: { ...ann, policy: fifty, until: 'soon' } }, 400, 'until must be an instant such as'],
    [{ method: 'PUT', body: { ...ann, policy: fifty, until: 1 } }, 400, 'until must be later than now'],
    [{ method: 'PUT', body: { ...ann, policy: fifty, by: 5 } }, 400, 'by must be a text of 1 to 256 characters'],
    [{ method: 'PUT', body: { ...ann, key: '', policy: fifty } }, 400, 'target must be a key'],
    [{ method: 'POST', body: {} }, 405, '/v1/overrides takes GET, PUT, DELETE, got POST'],
  ])('answers %j with %d', async (asked, status, detail) => {
    const service = await serve();

    const answer = await ask(service, asked);

    expect(answer).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
    expect(await policies.overrides('orders-of-shops', { ended: true })).toEqual([]);
  });

  it('answers a field that stands in the query twice with 400', async () => {
    const { request } = await serve();

    expect(await request('/v1/overrides?limit=orders&limit=login')).toMatchObject({
      status: 400,
      body: { detail: 'the query has a field twice; nothing was done' },
    });
  });
});

describe('overrides in the file', () => {
  const file = (overrides: string): string =>
    `limits:\n  login: { fixedWindow: { limit: 5, window: 1h }, overrides: [${overrides}] }\n  jobs:\n    concurrency: { limit: 1, ttl: 1m }\n    overrides: [{ key: big, concurrency: { limit: 2, ttl: 1m }, by: eve, reason: a sale, at: 2026-11-28 }]\n`;
  const forAnn = '{ key: ann, fixedWindow: { limit: 50, window: 1h } }';
  const forOrg = "{ prefix: 'org-7:', fixedWindow: { limit: 20, window: 1h }, until: 2100-01-01 }";
  const login = (key: string): object => ({ keys: { login: key } });

  it.each([
    ['in memory', (): HttpServiceOptions => ({})],
    ['in Redis', (): HttpServiceOptions => ({ store: redisStore(redis.admin, { prefix: 'sluice' }) })],
  ])('give keys other numbers %s, also after a reload, and what was used stays used', async (_where, options) => {
    const service = await serveHttp(file(''), options());
    running.push(service);
    await service.post('consume', { ...login('ann'), cost: 5 });
    const denied = await service.post('consume', login('ann'));
    service.reload(file(`${forAnn}, ${forOrg}`));

    const consumed = await Promise.all(['ann', 'org-7:bob', 'bob'].map((key) => service.post('consume', login(key))));
    service.reload(file(''));
    const after = await service.post('peek', login('ann'));

    expect(denied.body).toMatchObject({ allowed: false });
    expect(consumed.map(({ body }) => body)).toMatchObject([
      { allowed: true, limit: 50, used: 6, policy: 'login' },
      { allowed: true, limit: 20, used: 1 },
      { allowed: true, limit: 5, used: 1 },
    ]);
    expect(after.body).toMatchObject({ allowed: false, limit: 5, used: 6 });
  });

  it('give keys more slots', async () => {
    const service = await serveHttp(file(forAnn));
    running.push(service);
    const acquired = [];
    for (const key of ['big', 'big', 'big', 'small', 'small']) {
      acquired.push(await service.post('acquire', { keys: { jobs: key } }));
    }

    const allowed = acquired.map(({ body }) => (body as { decision: { allowed: boolean } }).decision.allowed);
    const { slot } = acquired[0]?.body as { slot: string };
    const released = await service.post('release', { slot });
    const again = await service.post('acquire', { keys: { jobs: 'big' } });

    expect(allowed).toEqual([true, true, false, true, false]);
    expect(released.status).toBe(204);
    expect(again.body).toMatchObject({ decision: { allowed: true } });
  });

  it('settle and refund under the numbers of the key', async () => {
    const service = await serveHttp(file(forAnn));
    running.push(service);
    const { body } = await service.post('reserve', { ...login('ann'), estimate: 30 });
    const { reservation } = body as { reservation: string };

    await service.post('settle', { reservation, actual: 12 });
    await service.post('refund', { ...login('ann'), cost: 2 });

    expect((await service.post('peek', login('ann'))).body).toMatchObject({ limit: 50, used: 10 });
  });
});
