import { describe, expect, it } from '@jest/globals';
import { byAll, byIp, byUser } from '@sluice/old-http';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
import { managed, type ManagedReference } from '@sluice/old-managed';
import { until, lines, testEnforcer, TestResponse, type TestOptions, type TestRequest } from '@sluice/testkit';
import { countedClient } from './counted-client.ts';
import { useManaged } from './use-managed.ts';

const { policies, keep, connect } = useManaged();

const apps = ['shop'];
const one = fixedWindow({ limit: 1, window: '1h' });
const three = fixedWindow({ limit: 3, window: '1h' });
const ann = { user: 'ann' };

/** Where and how the tests' limiters decide. Each is of a process of its own. */
const common = (): Pick<TestOptions, 'app' | 'store' | 'timeoutMs' | 'onStoreError'> => ({
  app: 'shop',
  store: redisStore(countedClient(connect()), { prefix: 'sluice' }), // which listens to nothing, for these limiters are never closed
  timeoutMs: 10_000,
  onStoreError: 'throw',
});

const statusOf = (answer: { denial?: { status: number } | undefined }): number | undefined => answer.denial?.status;

describe('a managed policy of a route', () => {
  it('is answered like any other, under its own name', async () => {
    await policies().put('orders', three, { apps });
    const enforce = testEnforcer({ policy: managed('orders'), key: byUser(), ...common() });

    const [first, , , denied] = [await enforce(ann), await enforce(ann), await enforce(ann), await enforce(ann)];

    expect(lines(first)).toEqual(['RateLimit-Policy: "orders";q=3;w=3600', 'RateLimit: "orders";r=2;t=3600']);
    expect(denied.denial?.status).toBe(429);
    expect(JSON.parse(denied.denial?.body ?? '')).toMatchObject({ 'violated-policies': ['orders'] });
  });

  it('that is not there: 403, no fields of limits, nothing to wait for, and no word of why', async () => {
    const enforce = testEnforcer({ policy: managed('nowhere'), key: byUser(), ...common() });

    const answer = await enforce(ann);

    expect(answer.denial?.status).toBe(403);
    expect(lines(answer).join()).not.toMatch(/RateLimit|Retry-After/i);
    expect(answer.denial?.body).not.toMatch(/nowhere|ann|shop/);
    expect(answer.info?.decision.outcome).toBe('unconfigured');
  });

  it('that is not there, with onUnconfigured allow: the request passes, without fields', async () => {
    const enforce = testEnforcer({
      policy: managed('no-policy'),
      onUnconfigured: 'allow',
      key: byUser(),
      ...common(),
    });

    const answer = await enforce(ann);

    expect(answer.denial).toBeUndefined();
    expect(lines(answer)).toEqual([]);
  });

  it('that is changed: the fields say so within a second, without a restart', async () => {
    const here = policies();
    await here.put('orders', one, { apps });
    const enforce = testEnforcer({ policy: managed('orders'), key: byUser(), ...common() });
    await enforce(ann);

    await here.put('orders', three, { apps });

    await until('the fields say so', async () => lines(await enforce({ user: 'bob' }))[0]?.includes('q=3'));
    expect(lines(await enforce(ann))[1]).toMatch(/^RateLimit: "orders";r=1;/);
  });
});

describe('a policy function that returns managed(plan)', () => {
  const byPlan = ({ headers }: TestRequest): ManagedReference => managed(headers?.['x-plan'] ?? 'free');
  const paid = { user: 'ann', headers: { 'x-plan': 'paid' } };

  it('has the budget of each plan, changed while it runs', async () => {
    const here = policies();
    await here.put('free', one, { apps });
    await here.put('paid', three, { apps });
    const enforce = testEnforcer({ policy: byPlan, key: byUser(), ...common() });

    const answers = [await enforce(ann), await enforce(ann), await enforce(paid), await enforce(paid)];
    await here.put('free', three, { apps });
    await until('the change is known', async () => statusOf(await enforce(ann)) === undefined);

    expect(answers.map(statusOf)).toEqual([undefined, 429, undefined, undefined]);
    expect(lines(answers[2] as never)[1]).toMatch(/^RateLimit: "paid";r=2;/);
  });

  it('is denied for a plan without a policy', async () => {
    await policies().put('free', one, { apps });
    const enforce = testEnforcer({ policy: byPlan, key: byUser(), ...common() });

    const answers = [await enforce({ ...ann, headers: { 'x-plan': 'gold' } }), await enforce(ann)];

    expect(answers.map(statusOf)).toEqual([403, undefined]);
  });

  it('makes no limiter for every request: thousands of them count in one budget', async () => {
    await policies().put('free', fixedWindow({ limit: 50, window: '1h' }), { apps });
    const enforce = testEnforcer({ policy: byPlan, key: byUser(), ...common() });

    const answers = await Promise.all(Array.from({ length: 200 }, () => enforce(ann)));

    expect(answers.filter((answer) => answer.denial === undefined)).toHaveLength(50);
  });

  it('goes together with a plain limit in one decision', async () => {
    await policies().put('free', one, { apps });
    const limits = [
      { name: 'all', policy: three, key: byAll() },
      { name: 'by-plan', policy: byPlan, key: byUser<TestRequest>() },
    ] as unknown as TestOptions['limits'];
    const enforce = testEnforcer({ limits, ...common() } as TestOptions);

    const answers = [await enforce(ann), await enforce(ann), await enforce({ user: 'bob' })];

    expect(answers.map(statusOf)).toEqual([undefined, 429, undefined]);
    expect(answers[2]?.info?.decision.policies.map(({ remaining }) => remaining)).toEqual([1, 0]);
  });
});

describe('limits with an entry whose policy is not there, left out', () => {
  const limits = [
    { name: 'gone', policy: managed('gone'), key: byIp<TestRequest>() },
    { name: 'user', policy: managed('per-user'), key: byUser<TestRequest>() },
  ] as const;

  it('write the fields of the others, and deny for them', async () => {
    await policies().put('per-user', one, { apps });
    const enforce = testEnforcer({ limits, onUnconfigured: 'allow', ...common() });

    const answers = [await enforce(ann), await enforce(ann)];

    expect(lines(answers[0] as never)).toEqual(['RateLimit-Policy: "user";q=1;w=3600', 'RateLimit: "user";r=0;t=3600']);
    expect(answers.map(statusOf)).toEqual([undefined, 429]);
  });

  it('refund what the others consumed, when the response calls for it', async () => {
    await policies().put('per-user', one, { apps });
    const enforce = testEnforcer({ limits, onUnconfigured: 'allow', refund: 'on-failure', ...common() });
    const response = new TestResponse();
    await enforce(ann, response);
    expect(statusOf(await enforce(ann))).toBe(429);

    response.finish(500);

    await until('it is given back', async () => statusOf(await enforce(ann)) === undefined);
  });
});

describe('a limiter that is handed in', () => {
  it('counts its managed policy together with all other limiters that use it', async () => {
    const here = policies();
    await here.put('login', three, { apps });
    const limiter = keep(createLimiter({ policy: managed('login'), ...common() }));
    const enforce = testEnforcer({ limiter, key: byUser() });
    await limiter.consume('ann', 2);

    const answers = [await enforce(ann), await enforce(ann)];
    await here.put('login', fixedWindow({ limit: 5, window: '1h' }), { apps });
    await until('the change is known', async () => (await limiter.peek('bob')).limit === 5);

    expect(answers.map(statusOf)).toEqual([undefined, 429]);
    expect(lines(await enforce(ann))[1]).toMatch(/^RateLimit: "login";r=1;/);
  });
});
