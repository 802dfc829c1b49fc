import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';
import { connectTo, startRedisCluster, type RedisCluster } from '@sluice/testkit';
import { Cluster } from 'ioredis';
import { documentedUser, runHere, type Ran } from './sluice.ts';

let cluster: RedisCluster;
let url: string;
beforeAll(async () => {
  cluster = await startRedisCluster(3);
  const [name = '', , password = ''] = documentedUser('In a cluster');
  for (const node of cluster.nodes) {
    const admin = connectTo(node.url);
    await admin.call('ACL', 'SETUSER', ...documentedUser('In a cluster'));
    admin.disconnect();
  }
  url = `redis://${name}:${password.slice(1)}@127.0.0.1:${String(cluster.nodes[0]?.port)}`;
});
afterAll(() => cluster.stop());

const sluice = (...args: readonly string[]): Promise<Ran> => runHere([...args, '--redis', url]);

describe('a node of a cluster', () => {
  it('gives access to the policies on any node', async () => {
    const put = ['policy', 'put', 'orders', 'fixedWindow', '--limit', '5', '--window', '1m', '--app', 'checkout'];

    expect((await sluice(...put)).out).toMatch(/^created orders/);
    expect((await sluice(...put)).out).toMatch(/^unchanged orders/);
    expect((await sluice('policy', 'list')).out).toContain('fixedWindow 5 per 1m');
    expect(await sluice('policy', 'remove', 'orders')).toEqual({ code: 0, out: 'removed orders', err: '' });
  });

  it('gives access to every key on any node', async () => {
    const client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
    const store = redisStore(client, { prefix: 'sluice' });
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    const subjects = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(subjects.map((subject) => limiter.consume(subject, 2)));

    const printed: string[] = [];
    const whole: string[] = [];
    for (const subject of subjects) {
      printed.push((await sluice('inspect', subject)).out);
      whole.push((await sluice('inspect', `sluice:{${subject}}:default`)).out);
    }

    const isShown = (out: string): boolean => /default +fixedWindow 5 per 1h +2 +3 +now /.test(out);
    expect([...printed, ...whole].filter(isShown)).toHaveLength(2 * subjects.length);
    await limiter.close();
    client.disconnect();
  });
});
