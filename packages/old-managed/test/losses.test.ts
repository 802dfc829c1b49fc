import { describe, expect, it } from '@jest/globals';
import { fixedWindow, redisStore, slidingWindow } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { startRedis, until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, connect, warnings } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const twenty = fixedWindow({ limit: 20, window: '1h' });
const apps = ['checkout'];

const lost = (name: string): string[] =>
  warnings.filter((warning) => warning.startsWith('SLUICE_POLICIES_LOST') && warning.includes(` ${name} `));

describe('definitions that are gone from Redis', () => {
  it('are not removed: the last known ones stay in use, with a warning', async () => {
    await policies().put('flushed', ten, { apps });
    const orders = limiter({ policy: managed('flushed') });
    await orders.consume('ann', 4);

    await redis.admin.flushall();
    await until('the warning is printed', () => lost('flushed').length > 0);
    const decision = await orders.consume('ann');

    expect(decision).toMatchObject({ allowed: true, outcome: 'allowed', limit: 10, remaining: 9, source: 'redis' });
    expect(lost('flushed')).toHaveLength(1);
    expect(await policies().get('flushed')).toBeUndefined();
    expect(await policies().list()).toEqual([]);
  });

  it('are there again when a process that knew them puts the same: all keep the same version', async () => {
    const here = policies();
    const { version } = await here.put('put-again', ten, { apps });
    const orders = limiter({ policy: managed('put-again') });
    await orders.consume('ann', 4);
    await redis.admin.flushall();
    await until('the warning is printed', () => lost('put-again').length > 0);
    await orders.consume('ann', 2);

    const put = await here.put('put-again', ten, { apps });

    expect(put).toMatchObject({ version, change: 'created' });
    expect((await limiter({ policy: managed('put-again') }).consume('ann')).remaining).toBe(7);
    expect((await orders.consume('ann')).remaining).toBe(6);
  });

  it('are replaced when a process that did not know them puts others: all processes follow that', async () => {
    await policies().put('put-by-another', ten, { apps });
    const orders = limiter({ policy: managed('put-by-another') });
    await orders.consume('ann', 4);
    await redis.admin.flushall();
    await until('the warning is printed', () => lost('put-by-another').length > 0);

    await policies().put('put-by-another', twenty, { apps });
    await until('it is followed', async () => (await orders.consume('bob')).limit === 20);

    expect((await orders.consume('ann', 5)).remaining).toBe(15);
    expect((await limiter({ policy: managed('put-by-another') }).consume('ann')).remaining).toBe(14);
  });

  it('are unconfigured for a process that starts then', async () => {
    await policies().put('never-known', ten, { apps });
    await redis.admin.flushall();

    expect(await limiter({ policy: managed('never-known') }).consume('ann')).toMatchObject({ outcome: 'unconfigured' });
  });
});

describe('definitions that are there in an older version: a snapshot was loaded', () => {
  async function loadOlder(name: string): Promise<void> {
    const here = policies();
    await here.put(name, ten, { apps });
    const snapshot = await redis.admin.dumpBuffer('sluice:policies');
    await here.put(name, twenty, { apps });
    const orders = limiter({ policy: managed(name) });
    expect((await orders.consume('ann', 4)).remaining).toBe(16);
    await redis.admin.restore('sluice:policies', 0, snapshot, 'REPLACE');
    await until('the warning is printed', () => lost(name).length > 0);
    expect(await orders.consume('ann')).toMatchObject({ limit: 20, remaining: 15 });
  }

  it('are not followed back: the newer one goes on where it is known, with a warning', async () => {
    await loadOlder('older');
    expect(lost('older')).toHaveLength(1);
  });

  it('keep the newer states from being touched by a process that knows the older one alone', async () => {
    await loadOlder('older-stale');
    const before = await redis.admin.dumpBuffer('sluice:{ann}:older-stale:2m');

    const fresh = limiter({ policy: managed('older-stale') });

    await expect(fresh.consume('ann')).rejects.toMatchObject({ code: 'SLUICE_POLICY_STALE' });
    expect(await redis.admin.dumpBuffer('sluice:{ann}:older-stale:2m')).toEqual(before);
  });
});

describe('a process that has put a policy, of which an older version or garbage is there now', () => {
  it.each([
    ['an older version', 'known-older', undefined],
    ['garbage', 'known-garbage', 'garbage'],
    ['nothing', 'known-nothing', ''],
  ])('%s: puts the same again, and it is there for all', async (_what, name, text) => {
    const here = policies();
    await here.put(name, ten, { apps });
    const snapshot = await redis.admin.dumpBuffer('sluice:policies');
    const { version } = await here.put(name, twenty, { apps });
    if (text === undefined) await redis.admin.restore('sluice:policies', 0, snapshot, 'REPLACE');
    else if (text === '') await redis.admin.del('sluice:policies');
    else await redis.admin.hset('sluice:policies', name, text, '#revision', text);

    const put = await here.put(name, twenty, { apps });

    expect(put.change).not.toBe('unchanged');
    expect(put.version).toBeGreaterThanOrEqual(version);
    expect(await policies().get(name)).toMatchObject({ policy: twenty, version: put.version });
    expect((await limiter({ policy: managed(name) }).consume('ann')).remaining).toBe(19);
  });
});

describe('a process that has removed a policy, which is there again: a snapshot was loaded', () => {
  it('leaves it removed, and can remove it again', async () => {
    const here = policies();
    await here.put('removed-twice', ten, { apps });
    const snapshot = await redis.admin.dumpBuffer('sluice:policies');
    await here.remove('removed-twice');
    const orders = limiter({ policy: managed('removed-twice') });
    expect(await orders.consume('ann')).toMatchObject({ outcome: 'unconfigured' });
    await redis.admin.restore('sluice:policies', 0, snapshot, 'REPLACE');
    await until('the warning is printed', () => lost('removed-twice').length > 0);

    expect(await orders.consume('ann')).toMatchObject({ outcome: 'unconfigured' });
    expect(await here.remove('removed-twice')).toBe(true);
    expect(await here.remove('removed-twice')).toBe(false);
    expect(await limiter({ policy: managed('removed-twice') }).consume('ann')).toMatchObject({
      outcome: 'unconfigured',
    });
  });
});

describe('a Redis that has forgotten its scripts', () => {
  it('gets them again: nothing is lost, and changes are found', async () => {
    const here = policies();
    await here.put('scripts', ten, { apps });
    const orders = limiter({ policy: managed('scripts') });
    await orders.consume('ann', 4);

    await redis.admin.script('FLUSH');
    const decision = await orders.consume('ann');
    await redis.admin.script('FLUSH');
    await here.put('scripts', twenty, { apps });
    await redis.admin.script('FLUSH');
    await until('the change is known', async () => (await orders.peek('ann')).limit === 20);

    expect(decision.remaining).toBe(5);
    expect((await orders.consume('ann')).remaining).toBe(14);
  });
});

describe('a Redis that was restarted', () => {
  it('empty: the last known policy goes on by a count of its own, and a change is found by the old subscription', async () => {
    const server = await startRedis();
    try {
      const connection = connect(server.url);
      const here = policies(connection);
      await here.put('restarted', ten, { apps });
      const store = redisStore(connection, { prefix: 'sluice' });
      const orders = limiter({ policy: managed('restarted'), store, onStoreError: 'deny', timeoutMs: 500 });
      await orders.consume('ann', 4);

      await server.restart();
      await until('the warning is printed', () => lost('restarted').length > 0);
      await until('Redis decides again', async () => (await orders.peek('ann')).source === 'redis');
      expect(await orders.consume('ann')).toMatchObject({ limit: 10, remaining: 9 });
      await here.put('restarted', slidingWindow({ limit: 30, window: '1h' }), { apps });
      await until('the change is known', async () => (await orders.peek('ann')).limit === 30);

      expect((await orders.consume('ann')).remaining).toBe(28);
      await orders.close();
    } finally {
      await server.stop();
    }
  });
});
