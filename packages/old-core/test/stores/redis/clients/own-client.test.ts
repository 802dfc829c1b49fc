import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/old-core';
import { STORE_USER, connectTo, startRedis, until, useRedis, type RedisServer } from '@sluice/testkit';

const policy = fixedWindow({ limit: 5, window: '1h' });
const limiters: Limiter[] = [];
const limiterOn = (url: string, timeoutMs = 5_000): Limiter => {
  const limiter = createLimiter({
    policy,
    shared: true,
    store: redisStore(url, { prefix: 'sluice', breaker: false }),
    onStoreError: 'throw',
    timeoutMs,
  });
  limiters.push(limiter);
  return limiter;
};
const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  for (const close of closing.splice(0)) await close();
});

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});
const connections = async (): Promise<number> =>
  String(await redis.admin.client('LIST'))
    .trim()
    .split('\n').length;

describe('the connection of a URL', () => {
  it('is made with the first limiter, one for all, and ended with the last limiter', async () => {
    const before = await connections();
    const store = redisStore(redis.server.storeUrl, { prefix: 'sluice' });
    expect(await connections()).toBe(before);
    const one = createLimiter({ name: 'one', policy, store });
    const other = createLimiter({ name: 'other', policy, store });

    await Promise.all([one.consume('key'), one.consume('key'), other.consume('key')]);
    expect(await connections()).toBe(before + 1);
    await one.close();
    expect((await other.consume('key')).source).toBe('redis');
    await other.close();

    await until('the server markOnce', async () => (await connections()) === before);
  });

  it('is warned of once where ten stores of a process have one each: a handler makes them', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const server = await startRedis();
    closing.push(() => server.stop());
    const consumeOnce = async (): Promise<unknown> => limiterOn(server.storeUrl).consume('key');

    for (let i = 0; i < 9; i++) await consumeOnce();
    expect(warn).not.toHaveBeenCalled();
    await limiters.pop()?.close();
    await consumeOnce();
    expect(warn).not.toHaveBeenCalled();
    for (let i = 0; i < 3; i++) await consumeOnce();

    expect(warn.mock.calls).toEqual([
      [
        expect.stringContaining('Make redisStore(url, { prefix }) once'),
        expect.objectContaining({ code: 'SLUICE_LIMITER_PER_REQUEST' }),
      ],
    ]);
    warn.mockRestore();
  });

  it('is made for the user, with the password, in the database of the URL', async () => {
    await redis.admin.acl('SETUSER', 'some:one', 'on', '>p@ss/w%rd', '~*', '+@all');
    const url = `redis://${encodeURIComponent('some:one')}:${encodeURIComponent('p@ss/w%rd')}@127.0.0.1:${String(redis.server.port)}/3`;

    await limiterOn(url).consume('key');

    expect(String(await redis.admin.client('LIST'))).toMatch(/ db=3 .* user=some:one /);
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('counts nothing in another database, where that of the URL is not there', async () => {
    const limiter = limiterOn(`${redis.server.url}/99`);

    for (let i = 0; i < 3; i++) {
      await expect(limiter.consume('key')).rejects.toMatchObject({
        message: expect.stringMatching(/no connection to .*\/99: ERR DB index is out of range/) as unknown,
      });
    }
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('counts in the database of the URL once the server selects it, which it did not when the connection began', async () => {
    const server = await startRedis(['--busy-reply-threshold', '1']);
    const admin = connectTo(server.url);
    closing.push(() => {
      admin.disconnect();
    }, server.stop);
    const killer = connectTo(server.url);
    closing.push(() => {
      killer.disconnect();
    });
    await killer.ping();
    const killed = admin.eval('while true do end', 0).catch(() => undefined);
    await until('the server is busy', async () =>
      killer.ping().then(
        () => false,
        (error: unknown) => String(error).includes('BUSY'),
      ),
    );
    const limiter = limiterOn(`${server.url}/3`);
    await expect(limiter.consume('key')).rejects.toMatchObject({ kind: 'busy' });

    await killer.call('SCRIPT', 'KILL');
    await killed;

    await until('a decision', async () =>
      limiter.peek('key').then(
        () => true,
        () => false,
      ),
    );
    await limiter.consume('key');
    expect(await killer.info('keyspace')).toMatch(/^# Keyspace\r\ndb3:/);
  });

  it('needs no rights but those of the script', async () => {
    await redis.admin.acl('LOG', 'RESET');
    await redis.admin.acl(
      'SETUSER',
      'least',
      'on',
      '>secret',
      '~sluice:*',
      '+evalsha',
      '+eval',
      '+time',
      '+get',
      '+set',
    );

    await limiterOn(`redis://least:secret@127.0.0.1:${String(redis.server.port)}`).consume('key');

    const denied = (await redis.admin.acl('LOG')) as unknown[][];
    const commands = denied.map((entry) => entry[entry.indexOf('object') + 1]);
    // INFO is asked for one warning, and done without.
    expect(commands.filter((command) => command !== 'info')).toEqual([]);
  });

  it('ends when its limiter is closed before it stands', async () => {
    const silent = await silentServer();
    const limiter = limiterOn(silent.url);
    await until('it connects', () => silent.open() === 1);

    await limiter.close();

    await until('the connection ends', () => silent.open() === 0);
  });
});

describe('a URL', () => {
  it.each([undefined, '', ' '])('that is %j asks whether its variable is set', (url) => {
    expect(() => redisStore(url as string, { prefix: 'sluice' })).toThrow(
      /; is the environment variable of the URL set\?/,
    );
  });

  it.each([
    ['http://127.0.0.1:6379', 'redis://user:password@host:6379/0'],
    ['127.0.0.1:6379', 'redis://user:password@host:6379/0'],
    ['redis://host:6379/zero', 'number of a database'],
    ['redis://host:6379/0/1', 'number of a database'],
    ['redis://host:6379?family=6', 'no query'],
    ['redis://user:%zz@host', 'encodeURIComponent'],
  ])('%s is denied at once, and told what is wrong', (url, expected) => {
    expect(() => redisStore(url, { prefix: 'sluice' })).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', message: expect.stringContaining(expected) as unknown }),
    );
  });

  it.each([
    'http://user:s3cret@host',
    'redis//user:s3cret@host',
    'user:s3cret@host',
    'redis://user:s3cret@host:port',
    'redis://user:s3c@ret:s3cret@host:6379/zero',
    'redis://user:%zzs3cret@host',
    'redis://host?password=s3cret',
    'redis://host#s3cret',
  ])('%s is denied without a word of its password', (url) => {
    expect(() => redisStore(url, { prefix: 'sluice' })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('s3cret') as unknown }),
    );
  });

  it.each([
    ['redis://127.0.0.1:1', '127.0.0.1:1'],
    ['REDIS://127.0.0.1:1', '127.0.0.1:1'],
    ['redis://[::1]:1/0', '::1:1'],
  ])('%s where no server listens is named in the error', async (url, address) => {
    await expect(limiterOn(url).consume('key')).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringContaining(`no connection to ${address}: connect E`) as unknown,
    });
  });

  it('with a wrong password is told so, without the password in the error or in anything that hangs on it', async () => {
    const url = redis.server.storeUrl.replace(STORE_USER.password, 'wr0ng');

    const error: unknown = await limiterOn(url)
      .consume('key')
      .catch((reason: unknown) => reason);

    expect(error).toMatchObject({ kind: 'denied', message: expect.stringContaining('WRONGPASS') as unknown });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('wr0ng');
  });
});

describe('a server behind a name that moves', () => {
  it('is left when it is a replica now, and nothing is sent twice', async () => {
    const [first, second] = await Promise.all([startRedis(), startRedis()]);
    closing.push(first.stop, second.stop);
    const name = await movingName(first);
    const limiter = limiterOn(first.storeUrl.replace(String(first.port), String(name.port)));
    await limiter.consume('key');

    const admin = connectTo(first.url);
    await admin.replicaof('127.0.0.1', String(second.port));
    admin.disconnect();
    name.pointTo(second);

    await expect(limiter.consume('key')).rejects.toMatchObject({ kind: 'readonly' });
    await until('a decision by the new primary', async () => (await limiter.peek('key')).remaining === 5);
    expect((await limiter.consume('key')).remaining).toBe(4);
  });
});

describe('a connection that has died unnoticed', () => {
  it('is given up after a few seconds without an answer, and made again', async () => {
    const name = await movingName(redis.server);
    const limiter = limiterOn(redis.server.storeUrl.replace(String(redis.server.port), String(name.port)), 100);
    await limiter.consume('key');

    name.loseConnections();

    await expect(limiter.consume('key')).rejects.toMatchObject({ kind: 'timeout' });
    await until('a decision over another connection', async () => (await limiter.peek('key')).source === 'redis');
  });
});

/** Takes connections and says nothing. */
async function silentServer(): Promise<{ url: string; open: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `redis://127.0.0.1:${String((server.address() as AddressInfo).port)}`, open: () => sockets.size };
}

/** An address that leads new connections to one server after another, and may lose the packets of those that stand. */
async function movingName(
  first: RedisServer,
): Promise<{ port: number; pointTo(server: RedisServer): void; loseConnections(): void }> {
  let target = first;
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((socket) => {
    const there = connect(target.port, target.host);
    pairs.add([socket, there]);
    socket.pipe(there).pipe(socket);
    socket.on('error', () => there.destroy());
    there.on('error', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    pointTo: (next) => (target = next),
    loseConnections() {
      for (const [here, there] of pairs) {
        here.unpipe(there);
        there.unpipe(here);
        here.pause();
      }
    },
  };
}
