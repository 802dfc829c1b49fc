import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cutReplication,
  startRedisCluster,
  startSentinel,
  type RedisCluster,
  type RedisSentinel,
  type RedisServer,
} from '@sluice/testkit';

describe('a cluster of three primaries and their replicas', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3, { replicas: 1 });
  });
  afterAll(async () => {
    await cluster.stop();
  });

  it('moves a slot, its keys and their expiries to another primary', async () => {
    const { admin, nodes } = cluster;
    const from = await admin.primaryOf('key');
    const to = nodes.slice(0, 3).find((node) => node !== from) ?? from;
    await admin.clientOf(from).set('key', 'value', 'PX', 1_000_000);
    let halfway = 0;

    await admin.moveSlot(await admin.slotOf('key'), to, async () => {
      halfway += String(await admin.clientOf(from).call('CLUSTER', 'NODES')).includes('->-') ? 1 : 0;
    });

    expect(halfway).toBe(2);
    expect(await admin.primaryOf('key')).toBe(to);
    expect(await admin.clientOf(to).get('key')).toBe('value');
    expect((await admin.expiries()).get('key')).toBeGreaterThan(900_000);
  });

  it('changes roles on request', async () => {
    const { admin } = cluster;
    const replica = await admin.replicaOf('other');

    const { promoted, former } = await admin.failover('other');

    expect(promoted).toBe(replica);
    expect(await admin.primaryOf('other')).toBe(replica);
    expect(former).not.toBe(replica);
  });

  it('has the replica of a killed primary take over, with the replicated data', async () => {
    const { admin } = cluster;
    const primary = await admin.primaryOf('third');
    const replica = await admin.replicaOf('third');
    await admin.clientOf(primary).set('third', 'value');
    await admin.clientOf(primary).wait(1, 5_000);

    const { promoted, killed } = await admin.killPrimaryOf('third');

    expect([promoted, killed]).toEqual([replica, primary]);
    expect(await admin.clientOf(promoted).get('third')).toBe('value');
  });
});

describe('a primary with a replica and three Sentinels', () => {
  let sentinel: RedisSentinel;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(async () => {
    await sentinel.stop();
  });

  it('have the replica take over when the primary is killed, without the writes after it was cut off', async () => {
    const [first, second] = sentinel.servers as readonly [RedisServer, RedisServer];
    const [before, after] = [sentinel.adminOf(first), sentinel.adminOf(second)];
    expect(await sentinel.primary()).toBe(first);
    await before.set('early', 'kept');
    await before.wait(1, 5_000);

    await cutReplication(before, after);
    await before.set('late', 'lost');

    expect(await sentinel.killPrimary()).toEqual({ promoted: second, killed: first });
    expect(await sentinel.primary()).toBe(second);
    expect(await after.mget('early', 'late')).toEqual(['kept', null]);
  });
});
