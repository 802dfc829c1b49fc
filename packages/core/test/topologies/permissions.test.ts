import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import { createLimiter, fixedWindow, redisStore, type IoredisClient } from '@sluice/core';
import {
  connectTo,
  leastPrivilege,
  startRedis,
  startRedisCluster,
  startSentinel,
  STORE_USER,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
} from '@sluice/testkit';

type Connected = IoredisClient & { disconnect(): void; on(event: 'error', listener: () => void): unknown };

const { name: username, password, keys } = STORE_USER;
const credentials = { username, password };
const policy = fixedWindow({ limit: 100, window: '1h' });

/** Connects, and does everything that a store does. Resolves to how it ended. */
async function decideThrough(connect: () => Connected, between: () => Promise<void> = async () => {}): Promise<string> {
  const client = connect();
  client.on('error', () => undefined);
  const limiter = createLimiter({
    policy,
    store: redisStore(client, { breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 5_000,
  });
  try {
    await limiter.consume('key');
    await between();
    await limiter.refund(await limiter.consume('key', 2));
    await limiter.block('key', '1m');
    await limiter.unblock('key');
    await limiter.reset('key');
    return 'decided';
  } catch (error) {
    return String(error);
  } finally {
    await limiter.close();
    client.disconnect();
  }
}

/** What the server has denied to anybody since it was last asked: commands and keys. */
async function denied(admin: Redis): Promise<string[]> {
  const log = (await admin.acl('LOG')) as unknown[];
  await admin.acl('LOG', 'RESET');
  return log.map((entry) => {
    const fields = Array.isArray(entry) ? pairs(entry) : (entry as Record<string, unknown>);
    return String(fields['object']);
  });
}

const pairs = (list: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(list.flatMap((field, i) => (i % 2 === 0 ? [[String(field), list[i + 1]]] : [])));

/** `+cluster|slots` as the log of denied commands has it. */
const commandsOf = (rights: string): string[] =>
  rights.split(' ').flatMap((right) => (right.startsWith('+') ? [right.slice(1)] : []));

const take = (admin: Redis, command: string): Promise<unknown> => admin.acl('SETUSER', username, `-${command}`);
const give = (admin: Redis, command: string): Promise<unknown> => admin.acl('SETUSER', username, `+${command}`);

/** A server forgets the script, so that it is sent in full as well. */
const forgetScripts = (admins: readonly Redis[]): Promise<unknown> =>
  Promise.all(admins.map((admin) => admin.script('FLUSH')));

describe('the rights of the guide on permissions', () => {
  it('are those that the stores under test have', async () => {
    const guide = await readFile(new URL('../../../../docs/guides/redis-permissions.md', import.meta.url), 'utf8');
    const stated = [...guide.matchAll(/^ACL SETUSER (.*)$/gm)].map(([, rule]) => rule);

    expect(stated).toEqual([
      `${username} on >${password} ${keys} ${leastPrivilege.server}`,
      `${username} on >${password} ${leastPrivilege.sentinel}`,
      `${username} on >${password} ${keys} ${leastPrivilege.cluster}`,
    ]);
  });
});

describe('on one server', () => {
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = connectTo(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });
  const clients: [string, () => Connected][] = [
    ['ioredis 6', () => new Redis(server.storeUrl)],
    ['ioredis 5', () => new Redis5(server.storeUrl)],
  ];

  it.each(clients)('all that a store does is granted, through %s', async (_version, connect) => {
    await forgetScripts([admin]);

    expect(await decideThrough(connect)).toBe('decided');

    expect(await denied(admin)).toEqual([]);
  });

  it.each(commandsOf(leastPrivilege.server))('%s is needed', async (command) => {
    await forgetScripts([admin]);
    await take(admin, command);

    await decideThrough(() => new Redis(server.storeUrl));

    await give(admin, command);
    expect(await denied(admin)).toContain(command);
  });
});

describe('behind Sentinel', () => {
  let sentinel: RedisSentinel;
  let admins: Redis[];
  beforeAll(async () => {
    sentinel = await startSentinel();
    const watchers = sentinel.sentinels.map(({ host, port }) => connectTo(`redis://${host}:${String(port)}`));
    admins = [...watchers, ...sentinel.servers.map((server) => connectTo(server.url))];
  });
  afterAll(async () => {
    for (const admin of admins) admin.disconnect();
    await sentinel.stop();
  });

  interface Options {
    sentinels: { host: string; port: number }[];
    name: string;
    failoverDetector: boolean;
  }
  it.each<[string, (options: Options) => Connected]>([
    ['ioredis 6', (options) => new Redis(options)],
    ['ioredis 5', (options) => new Redis5(options)],
  ])('all that a store does is granted, through %s that watches for failovers', async (_version, connect) => {
    const { sentinels, name } = sentinel;
    const options = {
      ...{ ...credentials, sentinelUsername: username, sentinelPassword: password },
      ...{ sentinels: [...sentinels], name, failoverDetector: true },
    };

    expect(await decideThrough(() => connect(options))).toBe('decided');

    expect((await Promise.all(admins.map(denied))).flat()).toEqual([]);
  });
});

describe('in a cluster', () => {
  let cluster: RedisCluster;
  let admins: Redis[];
  beforeAll(async () => {
    cluster = await startRedisCluster(2);
    admins = cluster.nodes.map((node) => cluster.admin.clientOf(node));
  });
  afterAll(async () => {
    await cluster.stop();
  });
  const nodes = (): { host: string; port: number }[] => cluster.nodes.map(({ host, port }) => ({ host, port }));
  const options = { redisOptions: credentials, clusterRetryStrategy: () => null };

  /** The slot of `key` on its way to the other node, and back home afterwards. */
  const whileItMoves = async (connect: () => Connected): Promise<string> => {
    const { admin } = cluster;
    const slot = await admin.slotOf('sluice:{key}:default:1f');
    const home = await admin.primaryOf('sluice:{key}:default:1f');
    const away = cluster.nodes.find((node) => node !== home) ?? home;
    let ended = 'not moved';
    await decideThrough(connect, async () => {
      await admin.moveSlot(slot, away, async () => {
        // It ends by resetting the key, so that the second time it is asked for where it is not any more.
        ended = await decideThrough(connect);
        if (ended === 'decided') ended = await decideThrough(connect);
      });
    });
    await admin.moveSlot(slot, home);
    return ended;
  };

  it.each<[string, typeof Cluster | typeof Cluster5]>([
    ['ioredis 6', Cluster],
    ['ioredis 5', Cluster5],
  ])('all that a store does is granted, also while its key moves, through %s', async (_version, Client) => {
    await forgetScripts(admins);
    await Promise.all(admins.map((admin) => admin.config('RESETSTAT')));

    expect(await whileItMoves(() => new Client(nodes(), options))).toBe('decided');

    expect((await Promise.all(admins.map(denied))).flat()).toEqual([]);
    const used = await Promise.all(admins.map((admin) => admin.info('commandstats')));
    expect(used.join()).toContain('cmdstat_asking');
  });

  // Without ASKING, which is used as was seen, ioredis leaves a rejection unhandled.
  const others = commandsOf(leastPrivilege.cluster).filter((command) => command !== 'asking');
  it.each(others)('%s is needed', async (command) => {
    await forgetScripts(admins);
    await Promise.all(admins.map((admin) => take(admin, command)));

    await whileItMoves(() => new Cluster(nodes(), options));

    await Promise.all(admins.map((admin) => give(admin, command)));
    expect((await Promise.all(admins.map(denied))).flat()).toContain(command);
  });
});
