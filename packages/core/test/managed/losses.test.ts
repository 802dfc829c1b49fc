import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { takeSnapshot, ten, twenty, useWorld, type Process } from './use-policies.ts';

const { redis, process, warnings } = useWorld();

const thirty = fixedWindow({ limit: 30, window: '1h' });

async function followers(count: number): Promise<Process[]> {
  const processes = Array.from({ length: count }, () => process());
  await Promise.all(processes.map(({ follow }) => follow()));
  return processes;
}

/** What a process that starts now sees. */
async function read(name: string): Promise<unknown> {
  return (await process().policies.get(name))?.policy;
}

async function cut({ connection }: Process): Promise<void> {
  const ended = once(connection, 'end');
  connection.disconnect();
  await ended;
}

describe('a Redis that was flushed', () => {
  it('gets back the policies, the overrides and the removals from a process that has them', async () => {
    const { policies } = process();
    await policies.put('orders', ten, { apps: ['shop'], by: 'ann', reason: 'launch' });
    await policies.override('orders', 'bob', twenty, { until: Date.now() + 3_600_000 });
    await policies.put('mail', ten);
    await policies.remove('mail', { by: 'ann' });
    const [orders, overrides] = [await policies.get('orders'), await policies.overrides('orders')];
    await followers(1);
    const removal = await redis.admin.hget('sluice:{#policies}:records', 'mail');

    await redis.admin.flushall();

    await until('all is written back', async () => (await redis.admin.hlen('sluice:{#policies}:records')) === 3);
    expect(await redis.admin.hget('sluice:{#policies}:records', 'mail')).toBe(removal);
    const reader = process().policies;
    expect([await reader.get('orders'), await reader.overrides('orders')]).toEqual([orders, overrides]);
    expect(warnings.join()).toContain('SLUICE_POLICIES_LOST: sluice:{#policies}:records in Redis lost');
  });

  it('gets back the newest copy of each record, whichever process writes first', async () => {
    const [first, second] = (await followers(2)) as [Process, Process];
    await second.policies.put('orders', ten);
    await second.policies.put('mail', ten);
    await until('both are known', () => first.follower.copy.get('mail') !== undefined);
    await cut(first); // it is cut off before the last changes
    await second.policies.put('orders', twenty);
    await second.policies.remove('mail');
    await cut(second);

    await redis.admin.flushall();
    await first.connection.connect();
    await until('the older copy is back', async () => (await read('orders')) !== undefined);
    expect(await read('mail')).toEqual(ten);
    await second.connection.connect();

    await until('the newer copy is back', async () => (await read('mail')) === undefined);
    expect(await read('orders')).toEqual(twenty);
    await until('the first follows', () => first.follower.copy.find('mail', 'ann') === undefined);
    expect(first.follower.copy.find('orders', 'ann')).toEqual(twenty);
  });

  it('gets back thousands of records, to which several processes write at once', async () => {
    const { policies, follower } = process();
    await policies.put('orders', ten);
    const record = { atMs: 1, format: 1, life: 1, policy: ten };
    const names = Array.from({ length: 3000 }, (_, n) => `orders:key:user-${String(n)}`);
    for (let i = 0; i < 3000; i += 250)
      await follower.feed.restore?.(names.slice(i, i + 250).map((name) => [name, record]));
    await followers(3);

    await redis.admin.flushall();

    await until('all is back', async () => (await redis.admin.hlen('sluice:{#policies}:records')) === 3001);
    expect(await read('orders')).toEqual(ten);
  });

  it.each(['records', 'changes'])('gets back the %s alone, if they alone are gone', async (part) => {
    const [holder] = (await followers(1)) as [Process];
    await holder.policies.put('orders', ten);
    await holder.policies.put('mail', twenty);

    await redis.admin.del(`sluice:{#policies}:${part}`); // such as a server evicts that is full

    await until('all is back', async () => (await process().policies.list()).length === 2);
  });

  it('is written to after what is written back: a put reads what was there', async () => {
    const { policies } = process();
    await policies.put('orders', ten, { apps: ['shop'] });
    await redis.admin.flushall();

    expect(await policies.put('orders', ten)).toMatchObject({ change: 'unchanged', apps: ['shop'] });
    expect(await read('orders')).toEqual(ten);
  });
});

describe('a Redis that has loaded an older snapshot', () => {
  it('gets the later records, also if others have changed something since', async () => {
    const [holder] = (await followers(1)) as [Process];
    await holder.policies.put('orders', ten);
    await holder.policies.put('mail', ten);
    const load = await takeSnapshot(redis.admin);
    await holder.policies.put('orders', twenty);
    await holder.policies.remove('mail');
    await holder.follower.load();
    await cut(holder);

    await load();
    await process().policies.put('other', thirty); // its revision is later than all that the holder knows
    await holder.connection.connect();

    await until('the removal is back', async () => (await read('mail')) === undefined);
    expect(await read('orders')).toEqual(twenty);
    await until('the change is known', () => holder.follower.copy.find('other', 'ann') !== undefined);
  });
});

describe('a process that may not write', () => {
  it('keeps its copy, warns, and says what is lost', async () => {
    const url = new URL(redis.server.url);
    Object.assign(url, { username: 'reader', password: 'secret' });
    const rights = '+eval +time +exists +hmget +zrangebyscore +lpos +lindex +subscribe +info'.split(' ');
    await redis.admin.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~sluice:*', '&sluice:*', ...rights);
    await process().policies.put('read-only', ten);
    const reader = process(url.href);
    await reader.follow();

    await redis.admin.flushall();

    await until('it has seen it', () =>
      warnings.some((text) => text.includes('POLICIES_LOST') && text.includes('read-only')),
    );
    expect(await reader.policies.get('read-only')).toMatchObject({ policy: ten });
    expect([...reader.follower.lost]).toEqual(['read-only']);
    await expect(reader.policies.put('read-only', twenty)).rejects.toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      kind: 'denied',
    });
  });
});

describe('a record that this release cannot use', () => {
  it.each([
    ['an unknown algorithm', '{"atMs":1,"life":1,"policy":{"algorithm":"magic"}}', 'not know its algorithm "magic"'],
    ['no JSON', '{"atMs":1,', 'it is not a record of a policy'],
    ['another value', '"hello"', 'it is not a record of a policy'],
    ['a hostile instant', '{"atMs":9007199254740993,"life":1}', 'it is not a record of a policy'],
  ])('(%s) is no policy, is left alone, and can be put again', async (_what, text, problem) => {
    await redis.admin.hset('sluice:{#policies}:records', 'orders', text);
    await redis.admin.zadd('sluice:{#policies}:changes', 5, 'orders');
    const { policies, follower } = process();

    expect(await policies.get('orders')).toBeUndefined();

    expect(follower.copy.get('orders')?.problem).toContain(problem);
    expect(await redis.admin.hget('sluice:{#policies}:records', 'orders')).toBe(text);
    expect(await policies.put('orders', ten)).toMatchObject({ change: 'created' });
    expect(await read('orders')).toEqual(ten);
  });

  it('leaves the policy in force that was read before, says so, and is replaced by the next put', async () => {
    const { policies } = process();
    await policies.put('orders', ten);
    const text = `{"atMs":${String(Date.now() + 60_000)},"life":1,"policy":{"algorithm":"magic"}}`;
    await redis.admin.hset('sluice:{#policies}:records', 'orders', text);
    await redis.admin.lpush('sluice:{#policies}:revisions', '1');

    expect(await policies.get('orders')).toMatchObject({ policy: ten });
    expect(warnings).toContainEqual(expect.stringContaining('SLUICE_POLICIES_AWAY'));
    expect(await policies.put('orders', ten)).toMatchObject({ change: 'changed' });
    expect(await read('orders')).toEqual(ten);
  });
});

describe('removals', () => {
  it('are kept for a week, and then deleted everywhere', async () => {
    const { policies, follower } = process();
    await policies.put('orders', ten);
    await policies.override('orders', 'ann', ten);
    await policies.remove('orders');
    await redis.admin.zadd('sluice:{#policies}:changes', 5, 'living'); // a name without a record is passed by
    const week = 7 * 86_400_000;
    const age = async (byMs: number): Promise<void> => {
      for (const [name, text] of Object.entries(await redis.admin.hgetall('sluice:{#policies}:records'))) {
        const atMs = Number(/\d+/.exec(text)?.[0]) - byMs;
        await redis.admin.hset('sluice:{#policies}:records', name, text.replace(/\d+/, String(atMs)));
      }
    };

    await age(week - 60_000);
    await process().policies.list();
    expect(await redis.admin.hlen('sluice:{#policies}:records')).toBe(2);
    await age(120_000);
    const later = process();
    await later.policies.list();

    await until('they are gone', async () => (await redis.admin.hlen('sluice:{#policies}:records')) === 0);
    expect([...later.follower.copy.entries()]).toEqual([]);
    await redis.admin.flushall();
    await policies.list(); // an older copy is no reason to bring them back
    expect([...follower.copy.entries()]).toHaveLength(2);
  });
});
