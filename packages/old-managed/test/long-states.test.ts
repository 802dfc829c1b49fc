import { describe, expect, it } from '@jest/globals';
import { concurrency, slidingLog, slidingWindow, type Policy } from '@sluice/old-core';
import { managed as reference } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const managed = useManaged();
const apps = ['checkout'];
const KEY = 'sluice:{key}:jobs:2m';

const slots = (limit: number): Policy => concurrency({ limit, ttl: '1h' });
const log = (limit: number): Policy => slidingLog({ limit, window: '1h' });
const blocks = (limit: number): Policy => slidingWindow({ limit, window: '1h' });

describe('a managed policy whose long state has a key of its own', () => {
  it.each<[string, Policy, Policy]>([
    ['a log becomes blocks', log(5), blocks(5)],
    ['blocks become a log', blocks(5), log(5)],
    ['a log becomes another log', log(5), log(4)],
  ])('goes on with what was used: %s', async (_what, from, to) => {
    const policies = managed.policies();
    await policies.put('jobs', from, { apps });
    const limiter = managed.limiter({ policy: reference('jobs') });
    for (let i = 0; i < 3; i++) await limiter.consume('key');

    await policies.put('jobs', to, { apps });
    const { limit } = to as unknown as { limit: number };
    await until('the change is in force', async () => (await limiter.peek('key', 0)).limit === limit);
    const allowed = [];
    for (let i = 0; i < 3; i++) allowed.push((await limiter.consume('key')).allowed);

    expect(allowed.filter(Boolean)).toHaveLength(limit - 3);
    const keys = await managed.redis.admin.keys(`${KEY}:*`);
    expect(keys).toEqual(to.algorithm === 'slidingLog' ? [`${KEY}:l1`] : []);
  });

  it('leaves slots with their holders, whatever limit they are of', async () => {
    const policies = managed.policies();
    await policies.put('jobs', slots(3), { apps });
    const limiter = managed.limiter({ policy: reference('jobs') });
    const [first, second] = [await limiter.acquire('key'), await limiter.acquire('key')];

    await policies.put('jobs', slots(2), { apps });
    await until('the change is in force', async () => (await limiter.peek('key', 0)).limit === 2);

    expect((await limiter.acquire('key')).decision.allowed).toBe(false);
    expect(await first.renew()).toBe(true);
    await second.release();
    expect((await limiter.acquire('key')).decision.allowed).toBe(true);
  });

  it('keeps slots held whose value was evicted', async () => {
    const policies = managed.policies();
    await policies.put('jobs', slots(2), { apps });
    const limiter = managed.limiter({ policy: reference('jobs') });
    const first = await limiter.acquire('key');
    await managed.redis.admin.del(KEY);

    expect((await limiter.acquire('key')).decision).toMatchObject({ allowed: true, remaining: 0 });
    expect((await limiter.acquire('key')).decision.allowed).toBe(false);
    await first.release();
    expect((await limiter.peek('key')).remaining).toBe(1);
  });

  it('that becomes another kind while slots are held counts them, and their release does no harm', async () => {
    const policies = managed.policies();
    await policies.put('jobs', slots(5), { apps });
    const limiter = managed.limiter({ policy: reference('jobs') });
    const held = [await limiter.acquire('key'), await limiter.acquire('key')];

    await policies.put('jobs', blocks(4), { apps });
    await until('the change is in force', async () => (await limiter.peek('key', 0)).limit === 4);
    await limiter.consume('key');
    await held[0]?.release();
    const renewed = await held[1]?.renew();

    expect((await limiter.peek('key', 0)).remaining).toBe(1);
    expect(renewed).toBe(false);
    expect(await managed.redis.admin.keys(`${KEY}:*`)).toEqual([]);
  });
});
