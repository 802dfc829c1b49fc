import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectWarnings, until, useClosing, useRedis } from '@sluice/testkit';
import { createLimiter, fixedWindow, redisStore, type Limiter, type Policy } from '../../src/index.ts';
import { createPolicies, managed, redisSource } from '../../src/managed/index.ts';
import { redisMembership, splitStore } from '../../src/split/index.ts';
import { everyPolicy } from '../program/any-policy.ts';

expectWarnings('SLUICE_POLICIES_LOST');

const guide = readFileSync(new URL('../../../../docs/guides/redis-permissions.md', import.meta.url), 'utf8');

/** What the guide grants after this text. */
function readRights(after: string): readonly string[] {
  const [, rights = ''] = /((?:[+&~][\w|:*{}#&~]+ ?)+)/.exec(guide.slice(guide.indexOf(after) + after.length)) ?? [];
  return rights.trim().split(' ');
}

const STORE = ['~sluice:*', ...readRights('ACL SETUSER sluice on >secret ~sluice:* ')];
const FOLLOWER = readRights('| limiters that use them');
const NOTIFIED = readRights('| the same, to see a change immediately');
const CHANGER = readRights('| processes that change them');
const MEMBER = readRights('A member of [`redisMembership`](split.md) needs\n');

const redis = useRedis();
const closeLater = useClosing();
beforeEach(async () => {
  await redis.admin.flushall();
  await redis.admin.acl('LOG', 'RESET');
});

/** A URL of a user that has these rights, and no others. */
async function userWith(rights: readonly string[]): Promise<string> {
  await redis.admin.acl('SETUSER', 'guided', 'reset', 'on', '>secret', ...rights);
  return `redis://guided:secret@127.0.0.1:${String(redis.server.port)}`;
}

/** The commands that the server has denied. */
async function denied(): Promise<readonly unknown[]> {
  const log = (await redis.admin.acl('LOG')) as unknown[][];
  return log.map((entry) => entry[entry.indexOf('object') + 1]);
}

describe('the rights of the guide', () => {
  it('are read from it', () => {
    expect([STORE, FOLLOWER, NOTIFIED, CHANGER, MEMBER].map((rights) => rights.length)).toEqual([8, 5, 2, 9, 9]);
  });

  it('may leave out the key of the timeline, which then has no edit of this process', async () => {
    const store = closeLater(redisStore(await userWith(['~sluice:{*}:api', ...STORE.slice(1)]), { prefix: 'sluice' }));
    const limiter = createLimiter({ name: 'api', limit: 1, window: '1m', store, onStoreError: 'throw' });
    await limiter.block('eve', '1m', { by: 'ann' });

    expect((await limiter.peek('eve')).outcome).toBe('blocked');
    expect(await redis.admin.exists('sluice:{#policies}:events')).toBe(0);
    await limiter.close();
  });

  it('are enough for every policy, and for every edit of its keys', async () => {
    const store = closeLater(redisStore(await userWith(STORE), { prefix: 'sluice' }));
    const make = ([name, policy]: [string, Policy]): Limiter =>
      createLimiter({ name, policy, store, onStoreError: 'throw', timeoutMs: 10_000 });
    const { concurrency, ...policies } = everyPolicy(2, 60_000);

    for (const limiter of Object.entries(policies).map(make)) {
      await limiter.refund(await limiter.consume('ann', 2));
      await limiter.charge('ann', 1);
      await limiter.block('ann', '1m');
      await limiter.unblock('ann');
      await limiter.reset('ann');
    }
    const { release, renew } = await make(['concurrency', concurrency]).acquire('ann');
    await renew();
    await release();

    expect(await denied()).toEqual([]);
  });

  it('are enough to change managed policies, to follow them, and to write back what is lost', async () => {
    const all = [...STORE, ...FOLLOWER, ...NOTIFIED, ...CHANGER];
    const store = closeLater(redisStore(await userWith(all), { prefix: 'sluice' }));
    const policies = closeLater(createPolicies(redisSource(await userWith(all), { prefix: 'sluice' })));
    const limiter = createLimiter({ policy: managed('orders'), app: 'shop', policies, store, timeoutMs: 10_000 });
    closeLater(limiter);
    const orders = fixedWindow({ limit: 5, window: '1m' });

    await policies.put('orders', orders, { apps: ['shop'] });
    await policies.override('orders', 'ann', fixedWindow({ limit: 9, window: '1m' }));
    await until('it is followed', async () => (await limiter.peek('ann')).limit === 9);
    await policies.removeOverride('orders', 'ann');
    await until('its end is followed', async () => (await limiter.peek('ann')).limit === 5);
    await redis.admin.flushall();
    await until('it is written back', async () => (await redis.admin.hlen('sluice:{#policies}:records')) > 0);
    await policies.remove('orders');

    expect(await denied()).toEqual([]);
  });

  it('are enough for a user that only changes policies', async () => {
    const rights = [...readRights('A user that only changes policies needs '), ...FOLLOWER, ...CHANGER];
    const policies = closeLater(createPolicies(redisSource(await userWith(rights), { prefix: 'sluice' })));

    await policies.put('orders', fixedWindow({ limit: 5, window: '1m' }), { apps: ['shop'] });
    expect(await policies.remove('orders')).toBe(true);

    expect((await denied()).filter((command) => command !== 'subscribe')).toEqual([]);
  });

  it('are enough for a limiter that only follows, by polling', async () => {
    const operator = closeLater(createPolicies(redisSource(redis.server.url, { prefix: 'sluice' })));
    await operator.put('orders', fixedWindow({ limit: 5, window: '1m' }), { apps: ['shop'] });
    const store = closeLater(redisStore(await userWith([...STORE, ...FOLLOWER]), { prefix: 'sluice' }));

    const limiter = createLimiter({ policy: managed('orders'), app: 'shop', store, timeoutMs: 10_000 });
    closeLater(limiter);

    expect((await limiter.consume('ann')).limit).toBe(5);
    await operator.put('orders', fixedWindow({ limit: 7, window: '1m' }), { apps: ['shop'] });
    await until('the change is followed', async () => (await limiter.peek('ann')).limit === 7);
    expect((await denied()).filter((command) => command !== 'subscribe')).toEqual([]);
  });

  it('are enough for a member of a split limit', async () => {
    const membership = redisMembership(await userWith(MEMBER), { prefix: 'sluice', heartbeatMs: 50, ttlMs: 500 });
    const store = closeLater(splitStore({ membership, graceMs: 600 }));
    const policy = fixedWindow({ limit: 4, window: '200ms', align: 'clock' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw' });
    await store.ready();

    await until('it has its share', async () => (await limiter.consume('ann')).allowed);

    expect(await denied()).toEqual([]);
  });
});
