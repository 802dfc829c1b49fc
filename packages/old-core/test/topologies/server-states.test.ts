import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore, type StoreError } from '@sluice/old-core';
import { connectTo, freePort, startRedis, until, type RedisServer } from '@sluice/testkit';
import { unitsIn } from './units.ts';
import { closeAll, keep, outcomeOf, ways } from './ways.ts';

let server: RedisServer;
let admin: Redis;
beforeEach(async () => {
  server = await startRedis();
  admin = connectTo(server.url);
});
afterEach(async () => {
  await closeAll();
  admin.disconnect();
  await server.stop();
});

describe.each(ways)('through $name', ({ strict, lenient }) => {
  it('a server that has forgotten the script still decides, and continues to count', async () => {
    const limiter = strict(server);
    await limiter.consume('key', 4);

    await admin.script('FLUSH');

    expect(await limiter.consume('key')).toMatchObject({ source: 'redis', remaining: 5 });
  });

  it('a server that runs a long script of another client is busy, and decides afterwards', async () => {
    const limiter = strict(server);
    await limiter.consume('key');
    await admin.config('SET', 'busy-reply-threshold', '20');
    const other = keep(connectTo(server.url));
    await other.ping();

    const script = other.eval('while true do end', 0).catch(String);

    expect(await outcomeOf(limiter)).toBe('busy');
    expect(await outcomeOf(limiter)).toBe('busy');
    await admin.script('KILL');
    expect(await script).toMatch('Script killed');
    expect(await limiter.consume('key')).toMatchObject({ source: 'redis', remaining: 8 });
  });

  it('a server without memory still denies and peeks, and fails when it has to write', async () => {
    const limiter = strict(server);
    await limiter.consume('full', 10);

    await admin.config('SET', 'maxmemory', '1');

    expect(await outcomeOf(limiter, 'full')).toBe('redis: denied');
    expect((await limiter.peek('fresh')).remaining).toBe(10);
    expect(await outcomeOf(limiter, 'fresh')).toBe('oom');
    await admin.config('SET', 'maxmemory', '0');
    expect((await limiter.consume('fresh')).remaining).toBe(9);
  });

  it('a server that becomes a replica is reported by its kind, and continues its counts as a primary again', async () => {
    const limiter = strict(server);
    await limiter.consume('key', 4);

    await admin.replicaof('127.0.0.1', await freePort());

    expect(await outcomeOf(limiter)).toBe('readonly');
    await admin.replicaof('NO', 'ONE');
    // A connection of the store leaves a replica, and is opened again.
    expect((await until('it decides', () => limiter.consume('key'))).remaining).toBe(5);
  });

  it('a replica does not count as a recovered primary', async () => {
    const limiter = lenient(server, { store: { breaker: { failures: 1, probeEveryMs: 10 } } });
    const info = (): Promise<string> => admin.info('commandstats');
    await limiter.consume('key');

    await admin.replicaof('127.0.0.1', await freePort());
    expect(await outcomeOf(limiter)).toBe('local: allowed');
    await admin.config('RESETSTAT');
    await until('three probes', async () => Number(/evalsha:calls=(\d+)/.exec(await info())?.[1]) >= 3);

    expect(limiter.status().breaker).not.toBe('closed');
    await admin.replicaof('NO', 'ONE');
    await until('the store decides again', async () => (await outcomeOf(limiter)) === 'redis: allowed');
  });

  it('a paused server makes decisions late, which may count, and are never sent twice', async () => {
    const limiter = strict(server, { timeoutMs: 200 });
    await until('it is connected', () => limiter.consume('other'));

    await admin.call('CLIENT', 'PAUSE', '60000', 'WRITE');
    const late = await Promise.all([outcomeOf(limiter), outcomeOf(limiter), outcomeOf(limiter)]);
    await admin.call('CLIENT', 'UNPAUSE');

    expect(late).toEqual(['timeout', 'timeout', 'timeout']);
    await until('they have counted', async () => ((await unitsIn(admin)).get('key') ?? 0) >= 3);
    await until('it answers', () => limiter.peek('key'));
    expect((await unitsIn(admin)).get('key')).toBe(3);
  });

  it.each(['evalsha', 'time', 'get', 'set'])(
    'a user without %s is denied, and the error reports it',
    async (command) => {
      await admin.acl('SETUSER', 'sluice', `-${command}`);

      expect(await outcomeOf(strict(server))).toBe('denied');

      expect(await admin.keys('*')).toEqual([]);
    },
  );

  it('a user with rights to other keys is denied', async () => {
    expect(await outcomeOf(strict(server, { store: { prefix: 'other' } }))).toBe('denied');
  });

  it('a denied user is limited locally, and by Redis once the rights are granted', async () => {
    const limiter = lenient(server, { store: { breaker: { failures: 5, probeEveryMs: 20 } } });
    await admin.acl('SETUSER', 'sluice', '-evalsha');

    const outcomes: string[] = [];
    for (let i = 0; i < 12; i++) outcomes.push(await outcomeOf(limiter));

    expect(outcomes).toEqual([...Array<string>(10).fill('local: allowed'), ...Array<string>(2).fill('local: denied')]);
    await admin.acl('SETUSER', 'sluice', '+evalsha');
    await until('the store decides again', async () => (await outcomeOf(limiter)) === 'redis: allowed');
  });

  it('a wrong password is reported as such', async () => {
    const stranger = { ...server, storeUrl: server.storeUrl.replace('secret', 'wrong') };

    expect(await outcomeOf(strict(stranger, { timeoutMs: 2_000 }))).toBe('denied');
  });

  it('a missing password is reported as such', async () => {
    await admin.config('SET', 'requirepass', 'secret');
    const anonymous = { ...server, storeUrl: server.url };

    expect(await outcomeOf(strict(anonymous))).toBe('denied');
  });
});

describe('a limiter of several keys', () => {
  it('has charged all of them or none when the memory is full', async () => {
    const policy = fixedWindow({ limit: 10, window: '1h' });
    const limits = [
      { name: 'ip', policy },
      { name: 'user', policy },
    ] as const;
    const client = keep(connectTo(server.storeUrl));
    const store = redisStore(client, { prefix: 'sluice', breaker: false });
    const limiter = createLimiter({ limits, store, onStoreError: 'throw', timeoutMs: 10_000 });
    await limiter.consume({ ip: '::1', user: 'ann' });
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
    await admin.config('SET', 'maxmemory', String(used + 200_000));

    let outcome = '';
    let calls = 0;
    while (outcome !== 'oom' && calls < 10_000) {
      calls++;
      outcome = await limiter.consume({ ip: `ip-${String(calls)}`, user: `user-${String(calls)}` }).then(
        ({ source }) => source,
        (error: unknown) => (error as StoreError).kind,
      );
    }

    expect(outcome).toBe('oom');
    await admin.config('SET', 'maxmemory', '0');
    const subjects = (await admin.keys('sluice:*')).map((key) => /\{(.*)\}/.exec(key)?.[1] ?? key);
    const numbers = (kind: string): string[] =>
      subjects
        .filter((subject) => subject.startsWith(`${kind}-`))
        .map((subject) => subject.slice(kind.length + 1))
        .sort();
    expect(numbers('ip').length).toBeGreaterThan(10);
    expect(numbers('ip')).toEqual(numbers('user'));
    expect(numbers('ip')).toHaveLength(calls - 1);
  });
});
