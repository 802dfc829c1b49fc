import { describe, expect, it } from '@jest/globals';
import { fixedWindow, redisStore } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, connect } = useManaged();

const apps = ['checkout'];
const limitOf = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

describe.each([
  ['the command PUBLISH', ['+@all', '-publish', '&*']],
  ['the channel, as new users of Redis are', ['+@all', 'resetchannels']],
])('a user who is denied %s', (_what, rights) => {
  it('puts, changes and removes policies all the same, and others find out by asking', async () => {
    await redis.admin.call('ACL', 'SETUSER', 'deployer', 'reset', 'on', '>secret', '~*', ...rights);
    const here = policies(connect(redis.server.url.replace('redis://', 'redis://deployer:secret@')));

    const created = await here.put('orders', limitOf(10), { apps });
    const orders = limiter({ policy: managed('orders') });
    const first = await orders.consume('ann', 4);
    const again = await here.put('orders', limitOf(10), { apps });
    const changed = await here.put('orders', limitOf(20), { apps });
    await until('the change is known', async () => (await orders.peek('ann')).limit === 20);
    const after = await orders.consume('ann');
    const isRemoved = await here.remove('orders');
    await until('the removal is known', async () => (await orders.peek('ann')).outcome === 'unconfigured');

    expect([created, again, changed].map(({ change }) => change)).toEqual(['created', 'unchanged', 'changed']);
    expect([first.remaining, after.remaining]).toEqual([6, 15]);
    expect(isRemoved).toBe(true);
  });

  it('hears of what others put by asking as well, where it is denied to listen', async () => {
    await redis.admin.call('ACL', 'SETUSER', 'deployer', 'reset', 'on', '>secret', '~*', ...rights, '-subscribe');
    const url = redis.server.url.replace('redis://', 'redis://deployer:secret@');
    await policies().put('orders', limitOf(10), { apps });
    const orders = limiter({ policy: managed('orders'), store: redisStore(connect(url), { prefix: 'sluice' }) });
    await orders.consume('ann', 4);

    await policies().put('orders', limitOf(20), { apps });

    await until('the change is known', async () => (await orders.peek('ann')).limit === 20);
    expect((await orders.consume('ann')).remaining).toBe(15);
  });
});
