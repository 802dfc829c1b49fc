import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { createLimiter, fixedWindow, redisStore, type IoredisClient } from '@sluice/old-core';
import { cutReplication, startRedisCluster, STORE_USER, type RedisCluster, type RedisServer } from '@sluice/testkit';
import { startLoad, type Load } from './load.ts';
import { expectAccounted, immortalKeys, unitsIn } from './units.ts';
import { closeAll, keep, limiterOn } from './ways.ts';

const LIMIT = 400;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });
const patient = { onStoreError: 'throw', timeoutMs: 20_000 } as const;
const redisOptions = { username: STORE_USER.name, password: STORE_USER.password, disconnectTimeout: 50 };

let cluster: RedisCluster;
let primaries: readonly RedisServer[];
beforeAll(async () => {
  cluster = await startRedisCluster(3, { replicas: 1 });
  primaries = cluster.nodes.slice(0, 3);
});
beforeEach(async () => {
  for (const node of cluster.nodes)
    await cluster.admin
      .clientOf(node)
      .flushall()
      .catch(() => undefined);
});
afterEach(closeAll);
afterAll(async () => {
  await cluster.stop();
});

const keyOf = (subject: string): string => `sluice:{${subject}}`;

function clients(): Record<string, IoredisClient> {
  const seeds = cluster.nodes.map(({ host, port }) => ({ host, port }));
  return {
    six: keep(new Cluster(seeds, { redisOptions })),
    five: keep(new Cluster5(seeds, { redisOptions })),
  };
}

const allowed = (load: Load): Record<string, number> =>
  Object.fromEntries([...load.tallies].map(([subject, { before, after }]) => [subject, before + after]));
const allOf = (subjects: readonly string[], units: number): Record<string, number> =>
  Object.fromEntries(subjects.map((subject) => [subject, units]));

/** The units on a node, also of slots it does not serve. */
async function unitsOn(node: RedisServer): Promise<Map<string, number>> {
  const admin = cluster.admin.clientOf(node);
  await admin.call('READONLY');
  return unitsIn(admin);
}

/** Of all living nodes: what the primaries among them hold, and which keys never expire. */
async function everywhere(): Promise<{ held: Map<string, number>; immortal: string[] }> {
  const held = new Map<string, number>();
  const immortal: string[] = [];
  for (const node of cluster.nodes) {
    const admin = cluster.admin.clientOf(node);
    if (admin.status !== 'ready') continue;
    const units = await unitsOn(node);
    immortal.push(...(await immortalKeys(admin)));
    if (!(await admin.info('replication')).includes('role:master')) continue;
    for (const [subject, count] of units) held.set(subject, count);
  }
  return { held, immortal };
}

describe('slots that move under load', () => {
  it('allow exactly the limit of every key, without an error', async () => {
    const loads = Object.entries(clients()).map(([version, client]) => {
      const subjects = ['ann', 'bob', 'eve'].map((name) => `${name}-${version}`);
      return { subjects, load: startLoad(limiterOn(client, { policy, ...patient }), subjects, (subject) => subject) };
    });

    await Promise.all(loads.map(({ load }) => load.hasAllowed(100)));
    for (const { subjects } of loads) {
      for (const subject of subjects) await moveOn(subject, 30);
    }
    await Promise.all(loads.map(({ load }) => load.untilDenied()));

    for (const { load, subjects } of loads) {
      expect(load.errors).toEqual([]);
      expect(allowed(load)).toEqual(allOf(subjects, LIMIT));
    }
    expect((await everywhere()).immortal).toEqual([]);
  });

  it('decide over two keys of one subject, also when one of them is new', async () => {
    const limits = [
      { name: 'short', policy },
      { name: 'long', policy: fixedWindow({ limit: 2 * LIMIT, window: '2h' }) },
    ] as const;
    const loads = Object.entries(clients()).map(([version, client]) => {
      const subjects = ['uma', 'udo'].map((name) => `${name}-${version}`);
      const limiter = createLimiter({ limits, store: redisStore(client, { prefix: 'sluice' }), ...patient });
      return { subjects, load: startLoad(limiter, subjects, (subject) => ({ short: subject, long: subject })) };
    });

    await Promise.all(loads.map(({ load }) => load.hasAllowed(100)));
    for (const { subjects } of loads) {
      for (const subject of subjects) await moveOn(subject, 30);
    }
    await Promise.all(loads.map(({ load }) => load.untilDenied()));

    for (const { load, subjects } of loads) {
      expect(load.errors).toEqual([]);
      expect(allowed(load)).toEqual(allOf(subjects, LIMIT));
    }
  });

  it('delay only new subjects with several keys', async () => {
    const limits = [
      { name: 'short', policy },
      { name: 'long', policy },
    ] as const;
    const subject = 'newcomer';
    const limiters = Object.values(clients()).map((client) =>
      createLimiter({ limits, store: redisStore(client, { prefix: 'sluice' }), ...patient }),
    );
    const consume = (): Promise<unknown>[] =>
      limiters.map((limiter) => limiter.consume({ short: subject, long: subject }).then(({ remaining }) => remaining));
    let early: Promise<unknown>[] = [];

    await cluster.admin.moveSlot(await cluster.admin.slotOf(keyOf(subject)), await nextOf(subject), async () => {
      early = consume();
      await sleep(200);
    });

    expect(new Set(await Promise.all(early))).toEqual(new Set([LIMIT - 1, LIMIT - 2]));
    expect(new Set(await Promise.all(consume()))).toEqual(new Set([LIMIT - 3, LIMIT - 4]));
  });
});

describe('a failover by hand under load', () => {
  it('allows exactly the limit of every key, without an error', async () => {
    const loads = Object.entries(clients()).map(([version, client]) => {
      const subjects = ['ida', 'ina', 'ivo'].map((name) => `${name}-${version}`);
      return { subjects, load: startLoad(limiterOn(client, { policy, ...patient }), subjects, (subject) => subject) };
    });

    await Promise.all(loads.map(({ load }) => load.hasAllowed(300)));
    await cluster.admin.failover(keyOf('ida-six'));
    await Promise.all(loads.map(({ load }) => load.untilDenied()));

    for (const { load, subjects } of loads) {
      expect(load.errors).toEqual([]);
      expect(allowed(load)).toEqual(allOf(subjects, LIMIT));
    }
    expect((await everywhere()).immortal).toEqual([]);
  });
});

describe('a primary that is killed under load', () => {
  it('throws nothing, leaves no immortal key, and allows at most the limit plus what was lost', async () => {
    const loads = Object.entries(clients()).map(([version, client]) => {
      const limiter = limiterOn(client, { policy, onStoreError: 'local' }, { breaker: { probeEveryMs: 50 } });
      const subjects = ['kim', 'ken', 'kay', 'kit'].map((name) => `${name}-${version}`);
      return startLoad(limiter, subjects, (subject) => subject);
    });
    const [victim = ''] = [...(loads[0] as Load).tallies.keys()];
    let kept = new Map<string, number>();

    await Promise.all(loads.map((load) => load.hasAllowed(2 * LIMIT)));
    const [primary, replica] = await Promise.all([
      cluster.admin.primaryOf(keyOf(victim)),
      cluster.admin.replicaOf(keyOf(victim)),
    ]);
    await cutReplication(cluster.admin.clientOf(primary), cluster.admin.clientOf(replica));
    await Promise.all(loads.map((load) => load.hasAllowed(2 * LIMIT + 200)));
    await cluster.admin.killPrimaryOf(keyOf(victim), async () => {
      kept = await unitsOn(replica);
      for (const load of loads) load.mark();
    });
    await Promise.all(loads.map((load) => load.untilDenied()));

    const { held, immortal } = await everywhere();
    expect(immortal).toEqual([]);
    let lost = 0;
    for (const load of loads) {
      expect(load.errors).toEqual([]);
      lost += expectAccounted(load.tallies, kept, held, LIMIT);
    }
    expect(lost).toBeGreaterThan(0);
  });
});

/** A primary that the subject's slot could move to. */
async function nextOf(subject: string): Promise<RedisServer> {
  const owner = await cluster.admin.primaryOf(keyOf(subject));
  const place = primaries.indexOf(owner);
  return primaries[(place + 1) % primaries.length] as RedisServer;
}

/** Moves the subject's slot to the next node, with a pause halfway. */
async function moveOn(subject: string, restMs: number): Promise<void> {
  const slot = await cluster.admin.slotOf(keyOf(subject));
  await cluster.admin.moveSlot(slot, await nextOf(subject), async () => {
    await sleep(restMs);
  });
}
