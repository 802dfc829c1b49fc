import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  rateLimit,
  slidingWindow,
  type Policy,
  type PolicyOption,
  type RateLimitOptions,
} from '@sluice/express';
import { fakeClock, memory, realRedis } from '@sluice/testkit';
import type { Request } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

const plans: Record<string, Policy | readonly Policy[]> = {
  free: fixedWindow({ name: 'free', limit: 1, window: '60s' }),
  paid: fixedWindow({ name: 'paid', limit: 2, window: '60s' }),
  both: [
    fixedWindow({ name: 'free', limit: 1, window: '60s' }),
    slidingWindow({ name: 'hourly', limit: 5, window: '1h' }),
  ],
};
const planOf = (req: Request): Policy | readonly Policy[] => plans[req.get('x-plan') ?? 'free'] as Policy;

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

  it.each<[string, PolicyOption<Request>]>([
    ['sync', planOf],
    ['async', async (req) => Promise.resolve(planOf(req))],
  ])('(%s) gives each request the limit of its plan', async (_kind, policy) => {
    const app = appWith(policy);

    const free = [await send(app, 'free'), await send(app, 'free')];
    const paid = [await send(app, 'paid'), await send(app, 'paid'), await send(app, 'paid')];

    expect(free.map(({ status }) => status)).toEqual([200, 429]);
    expect(paid.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(free[0]?.headers['ratelimit-policy']).toBe('"free";q=1;w=60');
    expect(paid[0]?.headers['ratelimit-policy']).toBe('"paid";q=2;w=60');
  });

  it('may answer a list, all of which must allow', async () => {
    const app = appWith(planOf);

    const answers = [await send(app, 'both'), await send(app, 'both')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[1]?.text).toContain('"violated-policies":["free"]');
  });

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
    ['a list in which one has no name', [plans['free'], fixedWindow({ limit: 1, window: '1m' })], 'policy.name'],
    ['an empty list', [], 'policy'],
    ['nothing', undefined, 'policy'],
    ['null', null, 'policy'],
    ['a number', 5, 'policy'],
    ['a list with a hole', [null], 'policy.name'],
    ['two policies of one name', [plans['free'], fixedWindow({ name: 'FREE', limit: 1, window: '1m' })], 'policy.name'],
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
