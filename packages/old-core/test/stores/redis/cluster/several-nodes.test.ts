import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import {
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Store,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';
import { onNodes, startRedisCluster, until, type RedisCluster } from '@sluice/testkit';

type Limits = Limiter<{ account?: string; shared?: string }>;

const account = { name: 'account', policy: fixedWindow({ limit: 5, window: '1h' }) } as const;
const SHARED = { shared: 'all' } as const;
const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;

/** A store whose subjects live on nodes of their own. Records what each of them is asked. */
class Nodes implements Store {
  readonly source = 'redis';
  readonly breaker = false;
  readonly #memory = memoryStore();
  asked: string[] = [];

  shardOf(subject: string): string {
    return subject;
  }

  async perform(requests: readonly StoreRequest[]): Promise<StoreAnswers> {
    const request = requests.at(-1) as StoreRequest; // before a consume, a peek says how the policies stand without it
    const [part] = 'parts' in request ? request.parts : [request.part];
    this.asked.push(`${request.op} ${part?.subject ?? ''}`);
    await new Promise(setImmediate);
    const answers = this.#memory.perform(requests);
    await new Promise(setImmediate);
    return answers;
  }
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
};

/** Keeps requests of one account in flight while others, each of an account of its own, come one after another. */
async function attack(
  limiter: Limits,
  inFlight: number,
  others: number,
): Promise<{ readonly allowed: number; readonly denied: number; readonly decisions: readonly Decision[] }> {
  let hasEnded = false;
  let allowed = 0;
  const attackers = Array.from({ length: inFlight }, async () => {
    while (!hasEnded) if ((await limiter.consume({ account: 'exhausted', ...SHARED })).allowed) allowed++;
  });
  const decisions: Decision[] = [];
  for (let i = 0; i < others; i++) decisions.push(await limiter.consume({ account: `other-${String(i)}`, ...SHARED }));
  hasEnded = true;
  await Promise.all(attackers);
  return { allowed, denied: decisions.filter(({ allowed }) => !allowed).length, decisions };
}

const limiterOn = (store: Store, sharedLimit: number, options: object = {}): Limits =>
  createLimiter({
    limits: [account, { name: 'shared', policy: fixedWindow({ limit: sharedLimit, window: '1h' }) }],
    store,
    ...strict,
    ...options,
  });

describe('an account that is exhausted', () => {
  it.each([150, 400])('does not starve the limit that all share, with %i requests in flight', async (inFlight) => {
    const others = 40;
    const limiter = limiterOn(onNodes(new Nodes()), inFlight + 25);
    for (let i = 0; i < 5; i++) await limiter.consume({ account: 'exhausted' });

    const { allowed, denied } = await attack(limiter, inFlight, others);

    expect(allowed).toBe(0);
    expect(denied / others).toBeLessThanOrEqual(0.05);
  });

  it('does not starve it either when that limit has denied lately', async () => {
    const limiter = limiterOn(onNodes(new Nodes()), 175);
    await limiter.consume({ shared: 'all' }, 176);
    for (let i = 0; i < 5; i++) await limiter.consume({ account: 'exhausted' });

    const { allowed, denied } = await attack(limiter, 150, 40);

    expect(allowed).toBe(0);
    expect(denied / 40).toBeLessThanOrEqual(0.05);
  });
});

describe('a key that denies', () => {
  it('takes nothing elsewhere', async () => {
    const store = onNodes(new Nodes());
    const limiter = limiterOn(store, 100);
    await limiter.consume({ account: 'ann', ...SHARED }, 5);
    store.asked = [];

    const denied = await limiter.consume({ account: 'ann', ...SHARED });
    await settled();

    expect(store.asked.toSorted()).toEqual(['peek all', 'peek ann']);
    expect(denied).toMatchObject({ outcome: 'denied', policy: 'account', remaining: 0 });
    expect(denied.policies.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [false, 0],
      [true, 95],
    ]);
  });

  it('is asked again with the others when they all allow', async () => {
    const store = onNodes(new Nodes());
    const limiter = limiterOn(store, 100);
    await limiter.consume({ account: 'ann', ...SHARED }, 6);
    store.asked = [];

    const { allowed, policies } = await limiter.consume({ account: 'ann', ...SHARED }, 2);

    expect(store.asked.slice(0, 2).toSorted()).toEqual(['peek all', 'peek ann']);
    expect(store.asked.slice(2).toSorted()).toEqual(['consume all', 'consume ann']);
    expect([allowed, ...policies.map(({ remaining }) => remaining)]).toEqual([true, 3, 98]);
  });

  it('has each of its denials counted once, and is blocked by them', async () => {
    const limiter = limiterOn(onNodes(new Nodes()), 20, {
      escalate: escalate({ after: 3, block: '2d', decay: '30d' }),
    });
    await limiter.consume({ account: 'ann', ...SHARED }, 5);

    const outcomes: string[] = [];
    for (let i = 0; i < 4; i++) outcomes.push((await limiter.consume({ account: 'ann', ...SHARED })).outcome);
    await settled();

    expect(outcomes).toEqual(['denied', 'denied', 'blocked', 'blocked']);
    expect((await limiter.peek({ shared: 'all' })).remaining).toBe(15);
  });

  it('has its denials counted where several have denied', async () => {
    const limiter = limiterOn(onNodes(new Nodes()), 20, {
      escalate: escalate({ after: 3, block: '2d', decay: '30d' }),
    });
    await limiter.consume({ account: 'ann', ...SHARED }, 21); // the first denial of both
    await limiter.consume({ account: 'ann', ...SHARED }, 5);

    const outcomes: string[] = [];
    for (let i = 0; i < 3; i++) outcomes.push((await limiter.consume({ account: 'ann', ...SHARED })).outcome);
    await settled();

    expect(outcomes).toEqual(['denied', 'blocked', 'blocked']);
    expect((await limiter.peek({ shared: 'all' }, 0)).remaining).toBe(15);
  });
});

describe('an account whose policy counts denials', () => {
  it('has them counted where several keys have denied', async () => {
    const limiter: Limits = createLimiter({
      limits: [
        { name: 'account', policy: fixedWindow({ limit: 5, window: '1h', countDenied: true }) },
        { name: 'shared', policy: fixedWindow({ limit: 20, window: '1h' }) },
      ],
      store: onNodes(new Nodes()),
      ...strict,
    });
    await limiter.consume({ account: 'ann', ...SHARED }, 21); // the first denial of both

    for (let i = 0; i < 3; i++) await limiter.consume({ account: 'ann', ...SHARED });
    await settled();

    expect((await limiter.peek({ account: 'ann' }, 0)).used).toBe(24);
  });
});

describe('an exhausted account in a Redis Cluster', () => {
  let cluster: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await startRedisCluster(3, { nodeTimeoutMs: 60_000 });
    client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
  });
  afterAll(async () => {
    client.disconnect();
    await cluster.stop();
  });

  it.each([150, 400])('starves at most a twentieth of the others, with %i requests in flight', async (inFlight) => {
    const store = redisStore(client, { prefix: `sluice-${String(inFlight)}` });
    const limiter = limiterOn(store, inFlight + 25, { timeoutMs: 20_000 });
    await until('the nodes decide', async () => {
      return (await limiter.peek({ account: 'exhausted', ...SHARED })).source === 'redis';
    });
    for (let i = 0; i < 5; i++) await limiter.consume({ account: 'exhausted' });

    const others = 40;
    const { allowed, denied } = await attack(limiter, inFlight, others);

    expect(allowed).toBe(0);
    expect(denied / others).toBeLessThanOrEqual(0.05);
    await limiter.close();
  });
});
