import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  connectTo,
  freePort,
  startRedis,
  startTcpProxy,
  STORE_USER,
  until,
  useClosing,
  useRedis,
  type RedisServer,
  type TcpProxy,
} from '@sluice/testkit';
import { redisStore, type RedisStore } from '../../../src/stores/redis/redis-store.ts';
import { ask, failure, remaining } from './asks.ts';

const redis = useRedis();
const closeLater = useClosing();
beforeEach(async () => {
  await redis.admin.flushall();
});

function storeAt(url: string, connectTimeoutMs?: number): RedisStore {
  return closeLater(redisStore(url, { prefix: 'sluice', ...(connectTimeoutMs !== undefined && { connectTimeoutMs }) }));
}

async function openProxy(
  server: RedisServer = redis.server,
  target: { readonly host: string; readonly port: number } = server,
): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  const proxy = closeLater(await startTcpProxy(target));
  return { proxy, url: proxy.through(server.storeUrl) };
}

const take = (store: RedisStore): Promise<unknown> => Promise.resolve(store.perform('take', [ask('ann')]));
/** Whether the first connection is waited for, which this begins. */
const isOpening = (store: RedisStore): boolean => store.opening?.() !== undefined;

describe('the first connection to a URL', () => {
  it('is waited for while it is made, and by requests that come meanwhile', async () => {
    const { proxy, url } = await openProxy();
    proxy.hang();
    const store = storeAt(url, 60_000);
    expect(proxy.connections).toBe(0);
    const first = take(store);

    await until('it has sent', () => proxy.heldBytes > 0);
    const second = take(store);
    expect(isOpening(store)).toBe(true);
    await proxy.heal();

    await expect(Promise.all([first, second])).resolves.toHaveLength(2);
    expect(isOpening(store)).toBe(false);
  });

  it('is waited for 250 ms from when the server accepts it, and what waits is not sent later', async () => {
    const { proxy, url } = await openProxy();
    proxy.hang();
    const store = storeAt(url);
    const first = take(store);

    expect(await failure(first)).toMatchObject({
      kind: 'connection',
      sent: false,
      message: expect.stringContaining('it has not answered yet') as unknown,
    });
    expect(isOpening(store)).toBe(false);
    await proxy.heal();
    await until('Redis decides', () => take(store).catch(() => undefined));
    expect(await remaining(store, ask('ann'))).toEqual([4]);
  });

  it('is waited for less than two seconds if the server does not accept it', async () => {
    const server = await startRedis(['--tcp-backlog', '1']);
    closeLater(() => server.stop());
    server.pause();
    for (let isFull = false; !isFull;) {
      const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
      closeLater(() => socket.destroy());
      isFull = await Promise.race([once(socket, 'connect').then(() => false), sleep(300).then(() => true)]);
    }
    const startMs = performance.now();

    expect(await failure(take(storeAt(server.storeUrl)))).toMatchObject({ kind: 'connection', sent: false });

    expect(performance.now() - startMs).toBeLessThan(1900); // 500 ms; one attempt to connect may take 2000 ms
  });

  it('is not waited for if it is rejected', async () => {
    const store = storeAt(`redis://127.0.0.1:${String(await freePort())}`, 60_000);

    expect(await failure(take(store))).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection', sent: false });
    expect(isOpening(store)).toBe(false);
  });

  it('ends with the store, also before it stands, and is made again by a request', async () => {
    const { proxy, url } = await openProxy();
    proxy.hang();
    const store = storeAt(url);
    const first = failure(take(store));
    await until('it connects', () => proxy.connections === 1);

    await store.close();
    await proxy.heal();

    expect(await first).toMatchObject({ kind: 'connection', sent: false });
    await until('it ends', () => proxy.connections === 0);
    await take(store);
    expect(proxy.connections).toBe(1);
  });

  it('is not made any more if the store is closed before the client is loaded', async () => {
    const { proxy, url } = await openProxy();
    const store = redisStore(url, { prefix: 'sluice' });
    const first = failure(take(store));

    await store.close();

    expect(await first).toMatchObject({ kind: 'connection', sent: false });
    await take(storeAt(url));
    expect(proxy.connections).toBe(1);
  });
});

describe('the connection to a URL', () => {
  it('is made for the user, with the password, in the database of the URL', async () => {
    await redis.admin.acl('SETUSER', 'some:one', 'on', '>p@ss/w%rd', '~*', '+@all');
    const url = `redis://${encodeURIComponent('some:one')}:${encodeURIComponent('p@ss/w%rd')}@127.0.0.1:${String(redis.server.port)}/3`;

    await take(storeAt(url));

    expect(String(await redis.admin.client('LIST'))).toMatch(/ db=3 .* user=some:one /);
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('counts nothing in another database, if that of the URL is not there', async () => {
    const store = storeAt(`${redis.server.url}/99`);

    const errors = [await failure(take(store)), await failure(take(store))];

    expect(String(errors[0])).toMatch(/no connection to .*\/99: ERR DB index is out of range/);
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('counts nothing for another user, if the password is wrong, which no error shows', async () => {
    const store = storeAt(redis.server.storeUrl.replace(STORE_USER.password, 'wr0ng'));

    const error = await failure(take(store));

    expect(error).toMatchObject({
      kind: 'denied',
      message: expect.stringMatching(/WRONGPASS.*the user or the password of the URL/) as unknown,
    });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('wr0ng');
  });

  it('leads to the new primary when the server is a replica now, and sends nothing twice', async () => {
    const [first, second] = await Promise.all([startRedis(), startRedis()]);
    closeLater(first.stop);
    closeLater(second.stop);
    const target = { host: first.host, port: first.port };
    const { url } = await openProxy(first, target);
    const store = storeAt(url);
    await take(store);
    const admin = connectTo(first.url);
    await admin.replicaof('127.0.0.1', String(second.port));
    admin.disconnect();
    target.port = second.port;

    expect(await failure(take(store))).toMatchObject({ kind: 'readonly' });

    await until('the new primary decides', async () => (await remaining(store, ask('ann')).catch(() => [0]))[0] === 5);
  });

  it('is made again after a few seconds if it has died unnoticed', async () => {
    const { proxy, url } = await openProxy();
    const store = storeAt(url);
    await take(store);

    proxy.loseAnswers();
    const lost = failure(take(store));

    expect(await lost).toMatchObject({ kind: 'connection', sent: true });
    await until('Redis decides over another connection', () => take(store).catch(() => undefined));
  });

  it('counts in the database of the URL once the server selects it, which it did not while it was busy', async () => {
    const server = await startRedis(['--busy-reply-threshold', '1']);
    closeLater(() => server.stop());
    const [admin, killer] = [connectTo(server.url), connectTo(server.url)];
    closeLater(() => {
      admin.disconnect();
      killer.disconnect();
    });
    await killer.ping();
    const killed = failure(admin.eval('while true do end', 0));
    await until('it is busy', async () => /BUSY/.test(String(await failure(killer.ping()))));
    const store = storeAt(`${server.url}/3`);

    expect(await failure(take(store))).toMatchObject({ kind: 'busy', sent: false });
    await killer.call('SCRIPT', 'KILL');
    await killed;
    await until('it decides', () => take(store).catch(() => undefined));

    expect(await killer.info('keyspace')).toMatch(/^# Keyspace\r\ndb3:/);
  });
});
