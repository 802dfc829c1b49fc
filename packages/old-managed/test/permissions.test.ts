import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore, type RedisClient } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import { leastPrivilege, STORE_USER, until, useRedis } from '@sluice/testkit';

const ten = fixedWindow({ limit: 10, window: '1h' });
const twenty = fixedWindow({ limit: 20, window: '1h' });
const apps = ['checkout'];

/** The rights in a row of the guide's table on managed policies, as `ACL SETUSER` accepts them. */
async function rightsOf(row: RegExp): Promise<string> {
  const guide = await readFile(new URL('../../../docs/guides/redis-permissions.md', import.meta.url), 'utf8');
  const [, cell = ''] =
    guide
      .split('\n')
      .find((line) => row.test(line))
      ?.slice(1)
      .split('|') ?? [];
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, rights]) => rights).join(' ');
}

const { admin, server } = ((redis) => ({ admin: () => redis.admin, server: () => redis.server }))(useRedis());

/** A client of a user with only these rights. */
async function userWith(rights: string): Promise<Redis> {
  await admin().call('ACL', 'SETUSER', 'tested', 'reset', 'on', '>secret', ...rights.split(' '));
  await admin().acl('LOG', 'RESET');
  return new Redis(server().url.replace('redis://', 'redis://tested:secret@'), { disableClientInfo: true });
}

const denials = async (): Promise<number> => ((await admin().acl('LOG')) as unknown[]).length;
const stores = `${STORE_USER.keys} ${leastPrivilege.server}`;

/** What a limiter of that user decides, before and after its policy has changed. */
async function limitsThrough(client: Redis | RedisClient): Promise<readonly number[]> {
  await admin().del('sluice:{key}:orders:2m');
  const policies = createPolicies(admin(), { prefix: 'sluice' });
  await policies.put('orders', ten, { apps });
  await policies.override('orders', 'another', twenty);
  const limiter = createLimiter({
    policy: managed('orders'),
    app: 'checkout',
    store: redisStore(client, { prefix: 'sluice' }),
    onStoreError: 'throw',
    timeoutMs: 10_000,
  });
  try {
    const { limit } = await limiter.consume('key');
    await policies.put('orders', twenty, { apps });
    await until('the change is heard of', async () => (await limiter.peek('key')).limit === 20);
    return [limit, (await limiter.consume('key')).remaining];
  } finally {
    await limiter.close();
  }
}

describe('the rights of the guide, for managed policies', () => {
  let read: string;
  let hear: string;
  let put: string;
  beforeAll(async () => {
    read = await rightsOf(/^\| limiters that use them/);
    hear = await rightsOf(/^\| the same, to learn of a change at once/);
    put = await rightsOf(/^\| who puts and removes them/);
  });

  it('are those that limiters need, beside those of stores', async () => {
    const client = await userWith(`${stores} ${read} ${hear}`);

    expect(await limitsThrough(client)).toEqual([10, 18]);
    expect(await denials()).toBe(0);
    client.disconnect();
  });

  it('let a limiter find changes by asking where it may not listen', async () => {
    const client = await userWith(`${stores} ${read}`);

    expect(await limitsThrough(client)).toEqual([10, 18]);
    client.disconnect();
  });

  it('are all needed by limiters', async () => {
    for (const right of read.split(' ')) {
      const client = await userWith(`${stores} ${read} ${hear} ${right.replace('+', '-')}`);

      await expect(limitsThrough(client)).rejects.toMatchObject({ kind: 'denied' });

      client.disconnect();
    }
  });

  it('are those for putting, which give no access to the state of clients', async () => {
    const client = await userWith(`~sluice:policies ~sluice:{#overrides}:* +evalsha +eval +time +info ${put}`);
    const policies = createPolicies(client, { prefix: 'sluice' });

    const { change } = await policies.put('by-the-writer', ten, { apps });
    await policies.override('by-the-writer', 'ann', twenty);
    const isRemoved = await policies.remove('by-the-writer');

    expect([change, isRemoved]).toEqual(['created', true]);
    expect(await denials()).toBe(0);
    await expect(client.get('sluice:{key}:orders:2m')).rejects.toThrow(/NOPERM/);
    client.disconnect();
  });

  it('keep users that only read from putting', async () => {
    const client = await userWith(`${stores} ${read} ${hear}`);

    await expect(
      createPolicies(client, { prefix: 'sluice' }).put('orders', ten, { apps: ['intruder'] }),
    ).rejects.toMatchObject({
      kind: 'denied',
    });

    client.disconnect();
  });
});
