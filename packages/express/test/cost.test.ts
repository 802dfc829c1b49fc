import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/express';
import { fakeClock, memory, realRedis } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

const policy = fixedWindow({ limit: 10, window: '60s' });

describe.each(
  [memory, realRedis()].flatMap((stores) =>
    frameworks.map((framework) => ({ ...framework, kind: stores.kind, stores })),
  ),
)('cost on $version over $kind', ({ express, stores }) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  const appWith = (cost: RateLimitOptions['cost']) => {
    const app = express();
    app.use(
      rateLimit({ policy, store: stores.store(fakeClock()), ...(cost === undefined ? {} : { cost }) }),
      (_request, response) => {
        response.end();
      },
    );
    app.use(tellError);
    return app;
  };

  it('is the units that every request takes', async () => {
    const app = appWith(4);

    const answers = [await request(app).get('/'), await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers['ratelimit'] as unknown)).toEqual([
      '"default";r=6;t=60',
      '"default";r=2;t=60',
      '"default";r=2;t=60',
    ]);
  });

  it.each<[string, RateLimitOptions['cost']]>([
    ['a function', (req) => Number(req.get('x-cost'))],
    ['an async function', async (req) => Promise.resolve(Number(req.get('x-cost')))],
  ])('may be %s of the request', async (_kind, cost) => {
    const app = appWith(cost);

    const answers = [
      await request(app).get('/').set('X-Cost', '7'),
      await request(app).get('/').set('X-Cost', '4'),
      await request(app).get('/').set('X-Cost', '3'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  });

  it('of 0 leaves a request out: not counted, no fields', async () => {
    const app = appWith((req) => Number(req.get('x-cost')));
    await request(app).get('/').set('X-Cost', '10');

    const free = await request(app).get('/').set('X-Cost', '0');

    expect(free.status).toBe(200);
    expect(free.headers).not.toHaveProperty('ratelimit');
  });

  it('above the limit is refused without Retry-After, and takes nothing', async () => {
    const app = appWith((req) => Number(req.get('x-cost')));

    const refused = await request(app).get('/').set('X-Cost', '11');
    const whole = await request(app).get('/').set('X-Cost', '10');

    expect(refused.status).toBe(429);
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(refused.headers['ratelimit']).toBe('"default";r=10');
    expect(whole.status).toBe(200);
  });

  it.each<[unknown, string]>([
    [-1, 'RangeError'],
    [0.5, 'RangeError'],
    [NaN, 'RangeError'],
    [Infinity, 'RangeError'],
    [2 ** 53, 'RangeError'],
    ['5', 'TypeError'],
    [undefined, 'TypeError'],
    [null, 'TypeError'],
  ])('of %p from a function is an error, and takes nothing', async (bad, name) => {
    let cost: unknown = bad;
    const app = appWith(() => cost as number);

    const failed = await request(app).get('/');
    cost = 10;
    const whole = await request(app).get('/');

    expect(failed.status).toBe(500);
    expect(failed.body).toMatchObject({ name, code: 'SLUICE_COST_INVALID' });
    expect(whole.status).toBe(200);
  });
});
