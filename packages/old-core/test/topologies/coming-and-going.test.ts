import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { fixedWindow, type Limiter } from '@sluice/old-core';
import { connectTo, startRedis, startTcpProxy, until, type RedisServer } from '@sluice/testkit';
import { unitsIn } from './units.ts';
import { closeAll, keep, limiterOn, outcomeOf, ways } from './ways.ts';

let server: RedisServer;
beforeEach(async () => {
  server = await startRedis();
});
afterEach(async () => {
  await closeAll();
  await server.stop();
});

const LIMIT = 10;

/** Consumes until Redis decides again. Resolves to the outcomes before that; none of them is an error. */
async function untilRedisDecides(limiter: Limiter): Promise<Set<string>> {
  const before = new Set<string>();
  await until('Redis decides', async () => {
    const outcome = await outcomeOf(limiter);
    if (outcome.startsWith('redis')) return true;
    before.add(outcome);
    return false;
  });
  return before;
}

const LOCAL = ['local: allowed', 'local: denied'];

describe.each(ways)('through $name', ({ strict, lenient }) => {
  it('a killed server leaves each process its local limit, and decides again after a restart', async () => {
    const limiter = lenient(server, { limit: LIMIT });
    await until('it is connected', async () => (await outcomeOf(limiter, 'other')).startsWith('redis'));

    await server.kill();
    const alone: string[] = [];
    for (let i = 0; i < 3 * LIMIT; i++) alone.push(await outcomeOf(limiter));

    expect(alone).toEqual([
      ...Array<string>(LIMIT).fill('local: allowed'),
      ...Array<string>(2 * LIMIT).fill('local: denied'),
    ]);
    await server.restart();
    expect(LOCAL).toEqual(expect.arrayContaining([...(await untilRedisDecides(limiter))]));
  });

  it('a server that has not started delays no request, and decides once it runs', async () => {
    await server.kill();
    const limiter = lenient(server, { limit: LIMIT });

    const alone: string[] = [];
    for (let i = 0; i < 2 * LIMIT; i++) alone.push(await outcomeOf(limiter));

    expect(alone).toEqual([
      ...Array<string>(LIMIT).fill('local: allowed'),
      ...Array<string>(LIMIT).fill('local: denied'),
    ]);
    await server.restart();
    expect(LOCAL).toEqual(expect.arrayContaining([...(await untilRedisDecides(limiter))]));
  });

  it('a hanging server is replaced by local decisions, and decides again when it continues', async () => {
    const limiter = lenient(server, { limit: LIMIT, timeoutMs: 30 });
    await until('it is connected', async () => (await outcomeOf(limiter, 'other')).startsWith('redis'));

    server.pause();
    const alone: string[] = [];
    for (let i = 0; i < 2 * LIMIT; i++) alone.push(await outcomeOf(limiter));
    server.resume();

    expect(alone).toEqual([
      ...Array<string>(LIMIT).fill('local: allowed'),
      ...Array<string>(LIMIT).fill('local: denied'),
    ]);
    expect(LOCAL).toEqual(expect.arrayContaining([...(await untilRedisDecides(limiter))]));
  });

  it('connections that are cut, half-closed or rejected are opened again', async () => {
    const proxy = await startTcpProxy(server);
    const behind = { ...server, storeUrl: proxy.through(server.storeUrl) };
    const limiter = lenient(behind, { limit: 1_000_000 });
    await untilRedisDecides(limiter);

    const faults = {
      'cut: ': () => {
        proxy.cut();
      },
      'FIN to the client: ': () => {
        proxy.halfClose('to-client');
      },
      'FIN to the server: ': () => {
        proxy.halfClose('to-server');
      },
      'denied: ': () => {
        proxy.deny();
        proxy.cut();
      },
    };
    const seen: string[] = [];
    for (const [name, fault] of Object.entries(faults)) {
      fault();
      seen.push(name + (await outcomeOf(limiter)));
      await proxy.heal();
      seen.push(...[...(await untilRedisDecides(limiter))].map((outcome) => name + outcome));
    }
    proxy.close();

    expect(seen.filter((outcome) => !/: (redis|local): allowed$/.test(outcome))).toEqual([]);
  });

  it('a loading server is replaced by local decisions, and continues from its stored data', async () => {
    const admin = keep(connectTo(server.url, ADMIN));
    const limiter = lenient(server, { limit: LIMIT });
    await until('it is connected', async () => (await outcomeOf(limiter, 'other')).startsWith('redis'));
    await until('it has counted', async () => (await limiter.consume('key', 7)).source === 'redis');
    await fill(admin);

    await server.restart({ args: SLOWLY, until: '-LOADING' });

    expect(await outcomeOf(limiter)).toBe('local: allowed');
    await endLoading(admin);
    await untilRedisDecides(limiter);
    expect((await unitsIn(admin)).get('key')).toBeGreaterThanOrEqual(7);
  });

  it('the error of a strict limiter names the connection, or the timeout', async () => {
    const limiter = strict(server, { timeoutMs: 200 });
    await until('it is connected', async () => (await outcomeOf(limiter)).startsWith('redis'));

    await server.kill();

    // A client of the application keeps the call, because the server may come back.
    expect(['connection', 'timeout']).toContain(await outcomeOf(limiter));
  });
});

/** For filling, which takes its time, and for commands to a server that is loading. */
const ADMIN = { commandTimeout: 60_000, enableReadyCheck: false };

/** Saves 200 keys of a kilobyte. */
async function fill(admin: Redis): Promise<void> {
  await admin.config('SET', 'rdbcompression', 'no');
  await admin.eval('for i = 1, 200 do redis.call("SET", i, string.rep("x", 1024)) end', 0);
  await admin.save();
}

/**
 * Makes loading a key take 50 ms, so that loading lasts until {@link endLoading}; the server serves clients after each.
 */
const SLOWLY = ['--key-load-delay', '50000', '--loading-process-events-interval-bytes', '1024'];

async function endLoading(admin: Redis): Promise<void> {
  await until('it loads fast', async () => (await admin.config('SET', 'key-load-delay', '0')) === 'OK');
}

describe.each([
  ['ioredis 6', (url: string) => new Redis(url, { enableReadyCheck: false, maxRetriesPerRequest: 0 })],
  ['ioredis 5', (url: string) => new Redis5(url, { enableReadyCheck: false, maxRetriesPerRequest: 0 })],
])('through %s that does not ask whether a server is ready', (_name, connect) => {
  it('a loading server is reported by its kind', async () => {
    const admin = keep(connectTo(server.url, ADMIN));
    await fill(admin);
    await server.restart({ args: SLOWLY, until: '-LOADING' });
    const policy = fixedWindow({ limit: LIMIT, window: '1h' });
    const limiter = limiterOn(keep(connect(server.storeUrl)), { policy, onStoreError: 'throw', timeoutMs: 10_000 });

    expect(await outcomeOf(limiter)).toBe('loading');

    await endLoading(admin);
    await until('it is loaded', async () => (await outcomeOf(limiter)).startsWith('redis'));
  });
});
