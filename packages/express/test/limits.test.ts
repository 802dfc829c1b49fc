import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byHeader, byIp, byUser, fixedWindow, rateLimit, type RateLimitOptions, type Store } from '@sluice/express';
import { fakeClock, memory, realRedis } from '@sluice/testkit';
import type { Express } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const twoPerIp = fixedWindow({ limit: 2, window: '1s' });
const threePerUser = fixedWindow({ limit: 3, window: '1h' });

/** Counts how often it is asked. */
function counted(store: Store): Store & { calls: number } {
  return {
    source: store.source,
    calls: 0,
    perform(requests) {
      this.calls++;
      return store.perform(requests);
    },
  };
}

describe.each(
  [memory, realRedis()].flatMap((stores) =>
    frameworks.map((framework) => ({ ...framework, kind: stores.kind, stores })),
  ),
)('several limits on $version over $kind', ({ express, stores }) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  const appWith = (options: RateLimitOptions): Express => {
    const app = express();
    app.set('trust proxy', 'loopback');
    app.use((req, _response, next) => {
      const id = req.get('x-user');
      if (id !== undefined) Object.assign(req, { user: { id } });
      next();
    });
    app.use(rateLimit({ onStoreError: 'throw', ...options } as RateLimitOptions), (req, response) => {
      response.json(req.rateLimit?.key ?? null);
    });
    return app;
  };
  const perIpAndUser = (store: Store): RateLimitOptions => ({
    limits: [
      { name: 'per-ip', policy: twoPerIp, key: byIp() },
      { name: 'per-user', policy: threePerUser, key: byUser() },
    ],
    store,
  });
  const send = (app: Express, address: string, user?: string) => {
    const get = request(app).get('/').set('X-Forwarded-For', address);
    return user === undefined ? get : get.set('X-User', user);
  };

  it('are decided in one call of the store', async () => {
    const store = counted(stores.store(fakeClock()));
    const app = appWith(perIpAndUser(store));

    const answer = await send(app, '203.0.113.1', 'ann');

    expect(store.calls).toBe(1);
    expect(answer.body).toEqual({ 'per-ip': '203.0.113.1', 'per-user': 'ann' });
    expect(answer.headers).toMatchObject({
      'ratelimit-policy': '"per-ip";q=2;w=1, "per-user";q=3;w=3600',
      ratelimit: '"per-ip";r=1;t=1, "per-user";r=2;t=3600',
    });
  });

  it('take nothing of any when one refuses', async () => {
    const clock = fakeClock();
    const app = appWith(perIpAndUser(stores.store(clock)));
    await send(app, '203.0.113.1', 'ann');
    await send(app, '203.0.113.1', 'ann');
    const refused = [await send(app, '203.0.113.1', 'ann'), await send(app, '203.0.113.1', 'ann')];

    const third = await send(app, '203.0.113.2', 'ann');
    const fourth = await send(app, '203.0.113.3', 'ann');
    const other = await send(app, '203.0.113.3', 'bob');

    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    expect(refused[0]?.text).toContain('"violated-policies":["per-ip"]');
    expect(refused[1]?.headers['ratelimit']).toBe('"per-ip";r=0;t=1, "per-user";r=1;t=3600');
    expect(third.status).toBe(200);
    expect(fourth.status).toBe(429);
    expect(fourth.text).toContain('"violated-policies":["per-user"]');
    expect(other.headers['ratelimit']).toBe('"per-ip";r=1;t=1, "per-user";r=2;t=3600');
  });

  it('wait for the longest of those that refused', async () => {
    const app = appWith(perIpAndUser(stores.store(fakeClock())));
    await send(app, '203.0.113.1', 'ann');
    await send(app, '203.0.113.2', 'ann');
    await send(app, '203.0.113.2', 'ann');

    const answer = await send(app, '203.0.113.2', 'ann');

    expect(answer.headers['retry-after']).toBe('3600');
    expect(answer.text).toContain('"violated-policies":["per-ip","per-user"]');
  });

  it('leave the one per user out where there is no user', async () => {
    const app = appWith(perIpAndUser(stores.store(fakeClock())));

    const answers = [await send(app, '203.0.113.1'), await send(app, '203.0.113.1'), await send(app, '203.0.113.1')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.body).toEqual({ 'per-ip': '203.0.113.1' });
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"per-ip";q=2;w=1');
  });

  it('limit nothing where every one is left out', async () => {
    const app = appWith({
      limits: [
        { name: 'per-user', policy: threePerUser, key: byUser() },
        { name: 'per-key', policy: threePerUser, key: byHeader('x-api-key') },
      ],
      store: stores.store(fakeClock()),
    });

    const answer = await send(app, '203.0.113.1');

    expect(answer.status).toBe(200);
    expect(answer.body).toBeNull();
    expect(answer.headers).not.toHaveProperty('ratelimit');
  });

  it('refuse with 403 where one that says so has no key, and take nothing of the others', async () => {
    const app = appWith({
      limits: [
        { name: 'per-ip', policy: twoPerIp },
        { name: 'per-user', policy: threePerUser, key: byUser(), onMissingKey: 'deny' },
      ],
      store: stores.store(fakeClock()),
    });

    const refused = await send(app, '203.0.113.1');
    const allowed = await send(app, '203.0.113.1', 'ann');

    expect(refused.status).toBe(403);
    expect(allowed.headers['ratelimit']).toBe('"per-ip";r=1;t=1, "per-user";r=2;t=3600');
  });

  it('may each have a cost, and one for those that have none', async () => {
    const app = appWith({
      limits: [
        { name: 'requests', policy: fixedWindow({ limit: 10, window: '60s' }), cost: 1 },
        {
          name: 'bytes',
          policy: fixedWindow({ limit: 100, window: '60s' }),
          cost: (req) => Number(req.get('x-bytes') ?? 0),
        },
        { name: 'units', policy: fixedWindow({ limit: 10, window: '60s' }) },
      ],
      cost: 3,
      store: stores.store(fakeClock()),
    });

    const answers = [await send(app, '203.0.113.1').set('X-Bytes', '40'), await send(app, '203.0.113.1')];

    expect(answers.map(({ headers }) => headers['ratelimit'] as unknown)).toEqual([
      '"requests";r=9;t=60, "bytes";r=60;t=60, "units";r=7;t=60',
      '"requests";r=8;t=60, "units";r=4;t=60',
    ]);
  });
});
