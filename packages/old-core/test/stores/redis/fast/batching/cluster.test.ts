import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { startRedisCluster, STORE_USER, type RedisCluster } from '@sluice/testkit';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster(3);
  const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }));
  client = new Cluster(nodes, { redisOptions: { username: STORE_USER.name, password: STORE_USER.password } });
});
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

const limiters: Limiter[] = [];
beforeEach(() => {
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(async () => {
  for (const node of cluster.nodes) node.resume();
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
});

const subjects = Array.from({ length: 300 }, (_, i) => `subject-${String(i)}`);
const all = <T>(ask: (subject: string, i: number) => Promise<T>): Promise<T[]> => Promise.all(subjects.map(ask));

async function limiterOf(name: string, policy: Policy | Policy[], timeoutMs = 60_000): Promise<Limiter> {
  const store = redisStore(client, { prefix: 'sluice', breaker: false });
  const limiter = createLimiter({ name, policy, store, onStoreError: 'throw', timeoutMs });
  limiters.push(limiter);
  await all((subject) => limiter.consume(`warm-${subject}`)); // every node knows the script
  for (const node of cluster.nodes) await cluster.admin.clientOf(node).config('RESETSTAT');
  return limiter;
}

/** Script calls that the nodes have carried out. */
async function carriedOut(): Promise<number> {
  const infos = cluster.nodes.map((node) => cluster.admin.clientOf(node).info('commandstats'));
  const calls = (await Promise.all(infos)).map((info) => /cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? '0');
  return calls.reduce((sum, count) => sum + Number(count), 0);
}

describe('many requests in one turn, for subjects on all nodes of a cluster', () => {
  it.each<[string, Policy | Policy[]]>([
    ['window', fixedWindow({ limit: 7, window: '1h' })],
    ['bucket', tokenBucket({ capacity: 7, refill: 1, every: '1d' })],
    [
      'list',
      [
        slidingWindow({ name: 'steady', limit: 9, window: '1h' }),
        fixedWindow({ name: 'hour', limit: 7, window: '1h' }),
      ],
    ],
  ])('are a call for each key, and decided in their order: %s', async (name, policy) => {
    const limiter = await limiterOf(name, policy);
    const costs = [5, 1, 1, 5, 1];

    const decisions = await all((subject) => Promise.all(costs.map((cost) => limiter.consume(subject, cost))));

    const told = (list: readonly Decision[]): string => list.map(({ allowed }) => (allowed ? '1' : '0')).join('');
    expect(new Set(decisions.map(told))).toEqual(new Set(['11100']));
    expect(decisions.flat().every(({ source }) => source === 'redis')).toBe(true);
    expect(await carriedOut()).toBe(subjects.length);
  });

  it('fail alone where a key cannot be read', async () => {
    const limiter = await limiterOf('spoilt', fixedWindow({ limit: 7, window: '1h' }));
    await cluster.admin
      .clientOf(await cluster.admin.primaryOf('{subject-17}'))
      .set('sluice:{subject-17}:spoilt:2f', 'x');

    const outcomes = await all((subject) => limiter.consume(subject).then(() => 'decided', failureOf));

    expect(outcomes.filter((outcome) => outcome === 'decided')).toHaveLength(subjects.length - 1);
    expect(outcomes[17]).toBe('SLUICE_STORE_KEY_FOREIGN');
  });

  it('fail alone where a node hangs, and take on the others what they were told', async () => {
    const limiter = await limiterOf('hung', fixedWindow({ limit: 7, window: '1h' }), 4_000);
    const [hung] = cluster.nodes as [RedisCluster['nodes'][number]];
    const owners = await all(async (subject) => (await cluster.admin.primaryOf(`{${subject}}`)) === hung);
    hung.pause();

    const outcomes = await all((subject) => limiter.consume(subject, 2).then(({ remaining }) => remaining, failureOf));

    expect(outcomes).toEqual(owners.map((isHung) => (isHung ? 'SLUICE_STORE_TIMEOUT' : 5)));
  });
});

const failureOf = (error: unknown): string => (error as { code: string }).code;
