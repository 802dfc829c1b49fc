import { describe, expect, it, jest } from '@jest/globals';
import { startTcpProxy, until } from '@sluice/testkit';
import { ten, twenty, useWorld, type Process } from './use-policies.ts';

const { redis, process, warnings } = useWorld();

/** How many records processes have read, and how often they have asked. */
async function countReads(): Promise<{ readonly records: number; readonly calls: number }> {
  const stats = await redis.admin.info('commandstats');
  const calls = (name: string): number => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  return { records: calls('hmget'), calls: calls('zrangebyscore') };
}

async function follower(url?: string): Promise<Process> {
  const one = process(url);
  await one.follow();
  return one;
}

describe('a process that follows Redis', () => {
  it('keeps the policy object while the numbers are equal', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', ten);
    const { copy, ...one } = (await follower()).follower;
    const policy = copy.find('orders', 'bob');

    await policies.put('orders', ten, { apps: ['shop'] });
    await until('it is known', () => copy.get('orders')?.record.apps !== undefined);

    expect(copy.find('orders', 'bob')).toBe(policy);
    expect(copy.find('orders', 'ann')).toBe(policy);
    expect(one.feed.name).toBe('sluice:{#policies}:records in Redis');
  });

  it('reads many records a thousand at a time, none while nothing changes, and one if one has changed', async () => {
    const { policies, follower: writer } = process();
    await policies.put('orders', ten);
    const record = (n: number) => ({ atMs: n, life: 1, policy: n % 2 === 0 ? ten : twenty });
    const records = Array.from({ length: 5000 }, (_, n) => [`orders:key:${String(n)}`, record(n + 1)] as const);
    for (let i = 0; i < 5000; i += 250) await writer.feed.restore?.(records.slice(i, i + 250));
    await redis.admin.config('RESETSTAT');

    const one = await follower();
    expect(await countReads()).toMatchObject({ records: 6 });
    await redis.admin.config('RESETSTAT');
    await one.follower.load();
    await one.follower.load();

    expect((await countReads()).calls).toBeGreaterThanOrEqual(2);
    expect((await countReads()).records).toBe(0);
    const adopt = jest.spyOn(one.follower.copy, 'adopt');
    await writer.feed.restore?.([['orders:key:7', record(6000)]]);
    await one.follower.load();

    expect(adopt.mock.calls.map(([name]) => name)).toEqual(['orders:key:7']);
    expect(['0', '1', '4999', 'x'].map((key) => one.follower.copy.find('orders', key))).toEqual([
      twenty,
      ten,
      ten,
      ten,
    ]);
  });

  it('keeps its copy while Redis is away, warns, and follows again', async () => {
    const proxy = await startTcpProxy(redis.server);
    await process().policies.put('orders', ten);
    const one = await follower(proxy.through(redis.server.url));
    proxy.deny();
    proxy.cut();
    await process().policies.put('orders', twenty);

    await until('it warns', () => warnings.some((text) => text.startsWith('SLUICE_POLICIES_AWAY')));
    expect(one.follower.copy.find('orders', 'ann')).toEqual(ten);
    await proxy.heal();

    await until('it is known', () => (one.follower.copy.find('orders', 'ann') as typeof ten).limit === 20);
    proxy.close();
  });

  it('rejects at once while the source is known to fail, before it was ever read', async () => {
    const one = process('redis://127.0.0.1:1');
    const first = one.follow();
    await expect(first).rejects.toMatchObject({ name: 'StoreError' });

    await expect(one.follower.firstLoad()).rejects.toMatchObject({ name: 'StoreError' });
  });
});
