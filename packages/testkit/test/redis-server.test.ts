import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connectTo, type ConnectOptions, startRedis, tlsFixture, until, type RedisServer } from '@sluice/testkit';

const connections: Redis[] = [];
const connect = (url: string, options: ConnectOptions = {}): Redis => {
  const client = connectTo(url, options);
  connections.push(client);
  return client;
};
const answersWithin = async (client: Redis, ms: number): Promise<boolean> => {
  const late = new Promise<false>((resolve) => setTimeout(resolve, ms, false));
  return Promise.race([client.ping().then(() => true), late]);
};

let server: RedisServer;
beforeEach(async () => {
  server = await startRedis();
});
afterEach(async () => {
  for (const client of connections.splice(0)) client.disconnect();
  await server.stop();
});

describe('a server', () => {
  it('sends no replies while it is paused, and the pending ones when it is resumed', async () => {
    const client = connect(server.url);
    await client.ping();

    server.pause();
    const waiting = client.incr('counter');
    expect(await answersWithin(client, 200)).toBe(false);
    server.resume();

    expect(await waiting).toBe(1);
  });

  it('ends when it is killed, and is empty on the same port after a restart', async () => {
    const client = connect(server.url);
    await client.set('key', 'value');
    const { pid, port } = server;

    await server.kill();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await server.restart();
    await until('the connection is back', () => client.status === 'ready');

    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    expect(await client.get('key')).toBeNull();
  });

  it('starts again with its arguments', async () => {
    const small = await startRedis(['--maxmemory', '12mb']);

    await small.restart();

    expect(await connect(small.url).config('GET', 'maxmemory')).toContain(String(12 * 2 ** 20));
    await small.stop();
  });

  it('can be stopped when it is paused, and when it was killed', async () => {
    const { pid } = server;
    server.pause();

    await server.stop();

    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    const killed = await startRedis();
    await killed.kill();
    await killed.stop();
  });

  it('may be waited for only until it loads its data', async () => {
    const client = connect(server.url, { enableReadyCheck: false, maxRetriesPerRequest: 20 });
    await client.config('SET', 'rdbcompression', 'no');
    await client.eval('for i = 1, 500 do redis.call("SET", i, string.rep("x", 1024)) end', 0);
    await client.save();

    await server.restart({ args: SLOWLY, until: '-LOADING' });

    await expect(client.get('1')).rejects.toThrow('LOADING');
  });

  it('speaks TLS alone when asked to, with a certificate for 127.0.0.1 and localhost', async () => {
    const secure = await startRedis([], { tls: true });
    const { ca } = tlsFixture;

    expect(secure.url).toMatch(/^rediss:/);
    expect(await connect(secure.url, { tls: { ca } }).ping()).toBe('PONG');
    expect(await connect(secure.url.replace('127.0.0.1', 'localhost'), { tls: { ca } }).ping()).toBe('PONG');
    const distrustful = connect(secure.url);
    await expect(distrustful.ping()).rejects.toThrow();
    await secure.stop();
  });

  it('grants the user of its storeUrl the rights of a store, under its prefix alone', async () => {
    const client = connect(server.storeUrl);

    expect(await client.eval('return redis.call("GET", KEYS[1])', 1, 'sluice:{a}:x')).toBeNull();
    await expect(client.get('other')).rejects.toThrow('NOPERM');
    await expect(client.flushall()).rejects.toThrow('NOPERM');
    await expect(client.keys('*')).rejects.toThrow('NOPERM');
  });
});

/** A second of loading for 500 keys, while it serves clients after each. */
const SLOWLY = ['--key-load-delay', '2000', '--loading-process-events-interval-bytes', '1024'];

describe('until', () => {
  it('waits for the result of the probe, and treats an error as not yet', async () => {
    let probes = 0;

    const result = await until('the third look', () => {
      probes++;
      if (probes === 1) throw new Error('not yet');
      return probes === 3 && `look ${String(probes)}`;
    });

    expect(result).toBe('look 3');
  });
});
