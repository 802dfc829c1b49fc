import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit, type Policy, type PolicyOption, type RateLimitOptions } from '@sluice/express';
import { fakeClock, memory, realRedis } from '@sluice/testkit';
import type { Request } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

const free = fixedWindow({ name: 'free', limit: 1, window: '60s' });

describe.each(
  [memory, realRedis()].flatMap((stores) =>
    frameworks.map((framework) => ({ ...framework, kind: stores.kind, stores })),
  ),
)('a policy that is a function on $version over $kind', ({ express, stores }) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  const appWith = (policy: PolicyOption<Request>, options: Partial<RateLimitOptions> = {}) => {
    const app = express();
    app.use(
      rateLimit({
        policy,
        store: stores.store(fakeClock()),
        onStoreError: 'throw',
        timeoutMs: 60_000,
        ...options,
      } as RateLimitOptions),
      (_request, response) => {
        response.end();
      },
    );
    app.use(tellError);
    return app;
  };
  const send = (app: ReturnType<typeof appWith>, plan: string) => request(app).get('/').set('X-Plan', plan);

  it('never shares state between policies of different names, the limiter’s own among them', async () => {
    const names = ['default', 'Default', 'a', 'A', 'a.b', 'a-b', 'b'];
    const app = appWith((req) => fixedWindow({ name: req.get('x-plan') as string, limit: 1, window: '60s' }));

    const answers = [];
    for (const name of names) answers.push(await send(app, name));

    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
  });

  it('counts on where a policy of the same name was made again, or its numbers were changed', async () => {
    let limit = 2;
    const app = appWith(() => fixedWindow({ name: 'fresh', limit, window: '60s' }));

    const answers = [await send(app, ''), await send(app, ''), await send(app, '')];
    limit = 3;
    answers.push(await send(app, ''), await send(app, ''));

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200, 429]);
  });

  it.each<[string, unknown, string]>([
    ['a policy without a name', fixedWindow({ limit: 1, window: '1m' }), 'policy.name'],
    ['a list in which one has no name', [free, fixedWindow({ limit: 1, window: '1m' })], 'policy.name'],
    ['an empty list', [], 'policy'],
    ['nothing', undefined, 'policy'],
    ['null', null, 'policy'],
    ['a number', 5, 'policy'],
    ['a list with a hole', [null], 'policy.name'],
    ['two policies of one name', [free, fixedWindow({ name: 'FREE', limit: 1, window: '1m' })], 'policy.name'],
    [
      'a policy whose numbers are bad',
      { algorithm: 'fixedWindow', name: 'x', limit: 0.5, windowMs: 1, align: 'clock' },
      'limit',
    ],
  ])('that answers %s is an error that names the field', async (_what, bad, field) => {
    const app = appWith(() => bad as Policy);

    const answer = await send(app, 'free');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ name: 'PolicyError', field });
  });
});
