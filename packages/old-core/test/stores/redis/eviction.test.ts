import { describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
import { expectWarnings, startRedis, until } from '@sluice/testkit';

const policy = fixedWindow({ limit: 10, window: '1h' });

/** What is warned about a server that was started with these arguments. */
async function warningsOf(args: readonly string[], user?: string): Promise<readonly unknown[]> {
  const server = await startRedis(args);
  const client = new Redis(
    server.url,
    user === undefined ? {} : { username: user, password: 'secret', enableReadyCheck: false },
  );
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await createLimiter({
    policy,
    store: redisStore(client, { prefix: 'sluice' }),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  }).consume('key');
  await client.ping(); // answered after the look
  await new Promise(setImmediate);
  const codes = emitted.mock.calls.map(([, options]) => (options as { code?: string }).code);
  emitted.mockRestore();
  client.disconnect();
  await server.stop();
  return codes;
}

expectWarnings('SLUICE_STORE_AWAY');

describe('the eviction policy of a server', () => {
  it.each([
    ['noeviction with a bound', ['--maxmemory', '50mb', '--maxmemory-policy', 'noeviction']],
    ['allkeys-lru without a bound', ['--maxmemory', '0', '--maxmemory-policy', 'allkeys-lru']],
  ])('is not warned of: %s', async (_what, args) => {
    expect(await warningsOf(args)).toEqual([]);
  });

  it('is not asked for again, nor told, where the user may not know', async () => {
    const acl = ['--user', 'few', 'on', '>secret', '~sluice:*', '+@all', '-info'];
    expect(await warningsOf([...acl, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru'], 'few')).toEqual([]);
  });

  it.each(['allkeys-lru', 'volatile-ttl'])('is warned of once when it drops live counters: %s', async (name) => {
    const args = ['--maxmemory', '50mb', '--maxmemory-policy', name];

    expect(await warningsOf(args)).toEqual(['SLUICE_REDIS_EVICTS']);
    expect(await warningsOf(args)).toEqual([]);
  });
});

describe('a server whose memory is full', () => {
  it('with noeviction frees no client that is denied', async () => {
    const server = await startRedis(['--maxmemory', '4mb', '--maxmemory-policy', 'noeviction']);
    const store = redisStore(server.url, { prefix: 'sluice' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    await limiter.consume('denied', 10);
    const outcomeOf = async (key: string): Promise<string> =>
      limiter.consume(key).then(
        ({ allowed }) => (allowed ? 'allowed' : 'denied'),
        (error: unknown) => (error as { code: string }).code,
      );
    const outcomes = new Set<string>();
    for (let round = 0; !outcomes.has('SLUICE_STORE_FAILED') && round < 100; round++) {
      const keys = Array.from({ length: 500 }, (_, i) => `${'k'.repeat(100)}-${String(round)}-${String(i)}`);
      for (const outcome of await Promise.all(keys.map(outcomeOf))) outcomes.add(outcome);
    }

    expect([...outcomes].toSorted()).toEqual(['SLUICE_STORE_FAILED', 'allowed']);
    // The key that is denied is written to less than any other, and stays: its budget is spent until the window ends.
    const admin = new Redis(server.url);
    await admin.config('SET', 'maxmemory', '64mb');
    await until('the store to decide', async () => (await outcomeOf('another')) === 'allowed');
    expect(await outcomeOf('denied')).toBe('denied');
    admin.disconnect();
    await limiter.close();
    await store.close();
    await server.stop();
  });
});

describe('ready', () => {
  it('resolves when Redis decides, and rejects when it does not in time', async () => {
    const server = await startRedis();
    const store = redisStore(server.url, { prefix: 'sluice' });

    await expect(store.ready()).resolves.toBeUndefined();
    await store.close();
    await server.stop();

    const away = redisStore(server.url, { prefix: 'sluice' });
    await expect(away.ready(200)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection' });
    await away.close();
  });

  it('leaves nothing in Redis', async () => {
    const server = await startRedis();
    const store = redisStore(server.url, { prefix: 'sluice' });
    await store.ready();
    const admin = new Redis(server.url);

    await until('the server to be empty', async () => (await admin.dbsize()) === 0);

    admin.disconnect();
    await store.close();
    await server.stop();
  });
});
