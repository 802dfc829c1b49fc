import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GlideClusterClient } from '@valkey/valkey-glide';
import { Cluster } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { createCluster } from 'redis';
import { startRedisCluster, STORE_USER, until, useClosing, type RedisCluster } from '@sluice/testkit';
import { concurrency, fixedWindow, memoryStore, redisStore, tokenBucket, type RedisStore } from '../../../src/index.ts';
import { performOnNodes, hashTag } from '../../../src/stores/redis/cluster.ts';
import type { Answer, Ask, Op } from '../../../src/stores/store.ts';
import { useWarnings } from '../../use-warnings.ts';
import { allowed, ask, remaining } from './asks.ts';
import { openIoredis, openNodeRedis, wrapGlide, type Opened } from './open-client.ts';

/** Nodes that each hold the keys of one subject, what they were asked, and which of them fail. */
class Nodes {
  readonly memory = memoryStore();
  readonly asked: string[] = [];
  readonly failing = new Set<string>();
  onAsk: (op: Op, subject: string) => void = () => undefined;

  readonly perform = async (op: Op, asks: readonly Ask[]): Promise<Answer> => {
    const subject = hashTag(asks[0]?.key ?? '');
    this.asked.push(`${op} ${subject}`);
    await new Promise(setImmediate);
    this.onAsk(op, subject);
    if (this.failing.has(`${op} ${subject}`)) throw new Error(`${subject} is away`);
    return this.memory.perform(op, asks);
  };

  decide(...asks: readonly Ask[]): Promise<Answer> {
    return performOnNodes('take', asks, this.perform);
  }

  /** Units that a key has left, once what was begun has ended. */
  async left(one: Ask): Promise<number | undefined> {
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    return (await this.perform('peek', [one])).figures[0]?.[1];
  }
}

const warnings = useWarnings();
const ANN = ask('ann');
const ALL = ask('all');

describe('a decision over keys of several nodes', () => {
  it('asks only the keys that deny again, which starts their blocks, and takes nothing elsewhere', async () => {
    const nodes = new Nodes();
    const blocking = ask('ann', fixedWindow({ limit: 1, window: '1m', blockFor: '1h' }));
    await nodes.perform('take', [blocking]);
    nodes.asked.length = 0;

    const answer = await nodes.decide(blocking, ALL);

    expect(nodes.asked).toEqual(['peek ann', 'peek all', 'take ann']);
    expect(answer.figures.map((of) => [of[0], of[1], of[3]])).toEqual([
      [0, 0, 3_600_000],
      [1, 5, 0],
    ]);
    expect(await nodes.left(ALL)).toBe(5);
  });

  it('gives back what it took when a key denies after all', async () => {
    const nodes = new Nodes();
    const bucket = ask('ann', tokenBucket({ capacity: 5, refill: 1, every: '1h' }), 2);
    nodes.onAsk = (op, subject) => {
      if (`${op} ${subject}` === 'take all') nodes.memory.perform('take', [{ ...ALL, cost: 5 }]); // by another process
    };

    const { figures } = await nodes.decide(bucket, ALL);

    expect(figures.map((of) => of[0])).toEqual([1, 0]);
    expect(await nodes.left(bucket)).toBe(5);
  });

  it('gives back no slot that its holder had before', async () => {
    const nodes = new Nodes();
    const slot = { ...ask('ann', concurrency({ limit: 2, ttl: '1m' })), holder: 7 };
    await nodes.perform('take', [slot]);
    nodes.failing.add('take all');

    await expect(nodes.decide(slot, ALL)).rejects.toThrow('all is away');

    expect(await nodes.left(slot)).toBe(1);
  });

  it('warns when what it took is lost', async () => {
    const nodes = new Nodes();
    nodes.failing.add('take all').add('give ann');

    await expect(nodes.decide(ANN, ALL)).rejects.toThrow('all is away');
    await nodes.left(ALL);

    expect(warnings).toEqual([expect.stringContaining('SLUICE_REFUND_FAILED')]);
  });
});

const user = { username: STORE_USER.name, password: STORE_USER.password };
const seedsOf = ({ nodes }: RedisCluster): { host: string; port: number }[] =>
  nodes.map(({ host, port }) => ({ host, port }));

const CLIENTS = {
  'ioredis 6': (cluster) => openIoredis(new Cluster(seedsOf(cluster), { redisOptions: user })),
  'ioredis 5': (cluster) => openIoredis(new Cluster5(seedsOf(cluster), { redisOptions: user })),
  'node-redis': (cluster) =>
    openNodeRedis(createCluster({ rootNodes: seedsOf(cluster).map((socket) => ({ socket })), defaults: user })),
  'Valkey GLIDE': async (cluster) => {
    const options = { addresses: seedsOf(cluster), requestTimeout: 60_000 };
    return wrapGlide(await GlideClusterClient.createClient(options), true);
  },
} satisfies Record<string, (cluster: RedisCluster) => Promise<Opened>>;

describe('a Redis Cluster', () => {
  let cluster: RedisCluster;
  const closeLater = useClosing();
  beforeAll(async () => {
    cluster = await startRedisCluster(3, { nodeTimeoutMs: 60_000 });
  });
  afterAll(() => cluster.stop());
  beforeEach(async () => {
    for (const node of cluster.nodes) await cluster.admin.clientOf(node).flushall();
  });
  async function storeBy(open: (cluster: RedisCluster) => Promise<Opened>): Promise<RedisStore> {
    const { client, end } = await open(cluster);
    closeLater(() => end?.());
    return redisStore(client, { prefix: 'sluice' });
  }

  describe.each(Object.entries(CLIENTS))('by a client of %s', (_name, open) => {
    let store: RedisStore;
    beforeEach(async () => {
      store = await storeBy(open);
    });

    it('decides on many keys of one turn, each on its node, and edits them', async () => {
      const asks = Array.from({ length: 60 }, (_, i) => ask(`subject-${String(i)}`));

      const answers = await Promise.all(asks.map(async (one) => store.perform('take', [one])));
      await store.perform('give', asks.slice(0, 30));

      expect(allowed(...answers)).not.toContain(false);
      expect(await remaining(store, ...asks)).toEqual(asks.map((_, i) => (i < 30 ? 5 : 4)));
    });

    it('decides over several keys, all or nothing, and never more than a limit', async () => {
      const shared = ask('all', fixedWindow({ limit: 20, window: '1h' }));
      const people = Array.from({ length: 8 }, (_, i) => ask(`user-${String(i)}`));

      const answers = await Promise.all(
        people.flatMap((person) => Array.from({ length: 6 }, async () => store.perform('take', [person, shared]))),
      );
      await until('all is given back', async () => {
        const [left = 0, ...others] = await remaining(store, shared, ...people);
        return (
          left + allowed(...answers).filter(Boolean).length === 20 &&
          others.every((units) => units !== undefined && units >= 0)
        );
      });

      expect(allowed(...answers).filter(Boolean).length).toBeLessThanOrEqual(20);
    });
  });

  it('receives a script once for each node, however many calls need it', async () => {
    const store = await storeBy(CLIENTS['ioredis 6']);
    const asks = Array.from({ length: 60 }, (_, i) => ask(`subject-${String(i)}`));
    for (const node of cluster.nodes) {
      await cluster.admin.clientOf(node).script('FLUSH');
      await cluster.admin.clientOf(node).config('RESETSTAT');
    }

    await Promise.all(asks.map(async (one) => store.perform('take', [one])));

    for (const node of cluster.nodes)
      expect(await cluster.admin.clientOf(node).info('commandstats')).toMatch(/cmdstat_eval:calls=1,/);
  });
});
