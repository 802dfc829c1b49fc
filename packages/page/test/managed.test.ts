import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, tokenBucket, type Limiter } from '@sluice/core';
import { createPolicies, managed } from '@sluice/managed';
import type { PageChange } from '@sluice/page';
import { until, useRedis } from '@sluice/testkit';
import type { PolicyChange, ShownPolicy } from '../src/managed-policies.ts';
import { ask, pageWith, useCleanUp } from './serve-page.ts';

const later = useCleanUp();
const redis = useRedis();
const why = { reason: 'a big customer', by: 'ops' };

/** A limiter with a managed policy, and a page that shows it. */
async function managedLimiter(): Promise<{ limiter: Limiter; made: ReturnType<typeof pageWith>; log: PageChange[] }> {
  const store = redisStore(redis.admin);
  await createPolicies(store).put('orders', fixedWindow({ limit: 2, window: '1h' }), { apps: ['shop'] });
  const options = { name: 'api', policy: managed('orders'), app: 'shop', store, timeoutMs: 60_000 } as const;
  const limiter: Limiter = createLimiter(options);
  later(() => limiter.close());
  const log: PageChange[] = [];
  const made = pageWith({ limiters: [limiter], log: (change) => log.push(change) });
  await limiter.reset('ann');
  await limiter.consume('ann');
  return { limiter, made, log };
}

const listOf = async (made: ReturnType<typeof pageWith>): Promise<readonly ShownPolicy[]> =>
  (await ask(made, 'policies', {})).json;

describe('a managed policy', () => {
  it('is shown with its numbers, as the limiter has them', async () => {
    const { made } = await managedLimiter();

    const [policy] = await listOf(made);

    expect(policy).toMatchObject({
      ...{ name: 'orders', text: 'fixedWindow 2 per 1h', apps: ['shop'] },
      options: { limit: '2', window: '1h', align: 'first-hit' },
    });
  });

  it('is compared first, then changed, in force for this limiter, and logged', async () => {
    const { limiter, made, log } = await managedLimiter();
    const [{ source, name, version, options }] = (await listOf(made)) as [ShownPolicy];
    const change = { source, name, version, options: { ...options, limit: '500' }, ...why };

    const compared: PolicyChange = (await ask(made, 'policy', change)).json;
    const unchanged = (await limiter.peek('ann')).limit;
    const changed: PolicyChange = (await ask(made, 'policy', { ...change, confirm: true })).json;

    expect([compared.before.text, compared.after, compared.isDone]).toEqual([
      'fixedWindow 2 per 1h',
      'fixedWindow 500 per 1h',
      false,
    ]);
    expect(unchanged).toBe(2);
    expect(changed.isDone).toBe(true);
    await until('the limiter has the new limit', async () => (await limiter.peek('ann')).limit === 500);
    expect((await limiter.peek('ann')).used).toBe(1);
    expect(log).toEqual([
      {
        ...{ ...why, action: 'change policy', target: 'orders', atMs: expect.any(Number) },
        detail: 'fixedWindow 2 per 1h -> fixedWindow 500 per 1h',
      },
    ]);
  });

  it('is not changed when it was changed since it was shown: the answer says what it is now', async () => {
    const { made, log } = await managedLimiter();
    const [{ source, name, version, options }] = (await listOf(made)) as [ShownPolicy];
    await createPolicies(redis.admin).put('orders', fixedWindow({ limit: 7, window: '1h' }), { apps: ['shop'] });

    const change = { source, name, version, options: { ...options, limit: '500' }, confirm: true, ...why };
    const { status, text } = await ask(made, 'policy', change);

    expect([status, text]).toEqual([409, expect.stringContaining('fixedWindow 7 per 1h')]);
    expect(log).toEqual([]);
  });

  it.each([
    ['a wrong number', { options: { limit: '-1' } }, 400],
    ['an unknown option', { options: { limits: '1' } }, 400],
    ['an option that is no text', { options: { limit: 5 } }, 400],
    ['no reason', { options: { limit: '5' }, reason: '' }, 400],
    ['another name', { options: { limit: '5' }, name: 'other' }, 404],
    ['another source', { options: { limit: '5' }, source: 7 }, 404],
  ])('with %s is not changed', async (_what, changed, status) => {
    const { limiter, made } = await managedLimiter();
    const [{ source, name, version }] = (await listOf(made)) as [ShownPolicy];

    const answer = await ask(made, 'policy', { source, name, version, confirm: true, ...why, ...changed });

    expect(answer.status).toBe(status);
    expect((await limiter.peek('ann')).limit).toBe(2);
  });

  it('is found in the source that is given', async () => {
    const policies = createPolicies(redis.admin);
    await policies.put('bucket', tokenBucket({ capacity: 5, refill: 1, every: '1s' }), { apps: [] });

    const list = await listOf(pageWith({ policies }));

    const found = list.find(({ name }) => name === 'bucket');
    expect(found?.options).toMatchObject({ capacity: '5', refill: '1', every: '1s' });
  });
});
