import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type IoredisClient,
  type StoreRequest,
} from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { startRedisCluster, STORE_USER, type RedisCluster } from '@sluice/testkit';

const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const policies = [
  slidingWindow({ name: 'burst', limit: 50, window: '1h' }),
  fixedWindow({ name: 'hourly', limit: 40, window: '1h' }),
  tokenBucket({ name: 'steady', capacity: 45, refill: 1, every: '1d' }),
];

const redisOptions = { username: STORE_USER.name, password: STORE_USER.password };
let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster(3);
});
afterAll(async () => {
  await cluster.stop();
});

describe.each([
  ['ioredis 6', Cluster],
  ['ioredis 5', Cluster5],
])('a cluster of three, through %s', (version, Client) => {
  let client: IoredisClient & { disconnect(): void };
  beforeAll(() => {
    client = new Client(
      cluster.nodes.map(({ host, port }) => ({ host, port })),
      { redisOptions },
    );
  });
  afterAll(() => {
    client.disconnect();
  });

  it('allows exactly the limit of every key, on whichever node it lives', async () => {
    const limiter = createLimiter({
      name: version.replace(' ', '-'),
      policy: policies,
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });
    const keys = Array.from({ length: 30 }, (_, i) => `client-${String(i)}`);

    const allowed = await Promise.all(
      keys.map(async (key) => {
        const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.consume(key)));
        return decisions.filter(({ allowed }) => allowed).length;
      }),
    );

    expect(allowed).toEqual(keys.map(() => 40));
  });

  it('sends a script that was flushed once to each node, however many calls find it gone', async () => {
    const limiter = createLimiter({
      name: `flushed-${version.replace(' ', '-')}`,
      policy: fixedWindow({ limit: 5, window: '1h' }),
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });
    const keys = Array.from({ length: 300 }, (_, i) => `client-${String(i)}`);
    await Promise.all(keys.map(async (key) => limiter.consume(key)));
    const nodes = cluster.nodes.map((node) => cluster.admin.clientOf(node));
    for (const node of nodes) {
      await node.config('RESETSTAT');
      await node.script('FLUSH');
    }

    const decisions = await Promise.all(keys.map(async (key) => limiter.consume(key)));

    expect(decisions.map(({ remaining }) => remaining)).toEqual(keys.map(() => 3));
    const sent = await Promise.all(
      nodes.map(async (node) => Number(/cmdstat_eval:calls=(\d+)/.exec(await node.info('commandstats'))?.[1] ?? 0)),
    );
    expect(sent).toEqual([1, 1, 1]);
  });

  it('counts each key by itself, whatever is in it', async () => {
    const limiter = createLimiter({
      name: `odd-${version.replace(' ', '-')}`,
      policy: fixedWindow({ limit: 5, window: '1h' }),
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });
    const odd = ['two words', 'two\nlines', '\u0000', 'é', 'e\u0301', 'a日本語z', '👩‍👩‍👧', '\ud800', '\udfff', '\ufffd'];
    const keys = [...odd, '{user}', '}{', '#user', '日'.repeat(256), '日'.repeat(257), 'user'];

    for (const remaining of [4, 3]) {
      const decisions = await Promise.all(keys.map(async (key) => limiter.consume(key)));
      expect(decisions.map((decision) => decision.remaining)).toEqual(keys.map(() => remaining));
    }
  });

  it('decides a list of requests on keys of several nodes, and edits them', async () => {
    const store = redisStore(client, { prefix: `sluice:${version.replace(' ', '')}` });
    const named = namePolicies(fixedWindow({ limit: 2, window: '1h' }), 'list');
    const limit = { policies: named, keySuffix: keySuffixOf('list', named) };
    const parts = Array.from({ length: 20 }, (_, i) => ({ limit, subject: `subject-${String(i)}`, cost: 1 }));
    const consume = parts.map((part): StoreRequest => ({ op: 'consume', parts: [part] }));

    const answers = await store.perform(consume);
    await store.perform(parts.map((part): StoreRequest => ({ op: 'block', part, durationMs: 60_000 })));
    const blocked = await store.perform(consume);

    expect(
      answers.map((answer) => (answer instanceof Error ? answer : answer.parts[0]?.policies[0]?.remaining)),
    ).toEqual(parts.map(() => 1));
    expect(blocked.every((answer) => !(answer instanceof Error) && answer.parts[0]?.blocked === true)).toBe(true);
  });

  it('decides limits with keys of their own together: no limit is passed, and what is denied takes nothing', async () => {
    const limits = [
      { name: 'per-ip', policy: fixedWindow({ limit: 20, window: '1h' }) },
      { name: 'per-user', policy: tokenBucket({ capacity: 8, refill: 1, every: '1d' }) },
    ] as const;
    const limiter = createLimiter({
      name: `both-${version.replace(' ', '-')}`,
      limits,
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });
    const people = Array.from({ length: 30 }, (_, i) => ({
      'per-ip': `192.0.2.${String(i % 5)}`,
      'per-user': `user-${String(i % 10)}`,
    }));

    const decisions = await Promise.all(
      people.flatMap((keys) => Array.from({ length: 10 }, async () => ({ keys, ...(await limiter.consume(keys)) }))),
    );
    await limiter.close(); // waits for what is given back
    const later = createLimiter({
      name: `both-${version.replace(' ', '-')}`,
      limits,
      store: redisStore(client, { prefix: 'sluice' }),
      ...strict,
    });

    for (const [limit, most] of [
      ['per-ip', 20],
      ['per-user', 8],
    ] as const) {
      for (const key of new Set(people.map((keys) => keys[limit]))) {
        const allowed = decisions.filter(({ keys, allowed }) => allowed && keys[limit] === key).length;
        expect((await later.peek({ [limit]: key })).remaining).toBe(most - allowed);
      }
    }
  });
});
