import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  StoreError,
  tokenBucket,
  type Store,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';
import { cases, onNodes, seeded, testSeed, expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

/** A store whose subjects live on nodes of their own, which answer after some turns of the event loop. */
function nodes(turns: () => number, away: (subject: string) => boolean = () => false): Store & { asked: number } {
  return onNodes(nodesOf(turns, away));
}

function nodesOf(turns: () => number, away: (subject: string) => boolean = () => false): Store & { asked: number } {
  const memory = memoryStore();
  return {
    source: 'redis',
    shardOf: (subject) => subject.charAt(0),
    breaker: false,
    asked: 0,
    async perform(requests: readonly StoreRequest[]): Promise<StoreAnswers> {
      this.asked++;
      const subjects = new Set(
        requests
          .flatMap((request) => ('parts' in request ? request.parts : [request.part]))
          .map(({ subject }) => subject),
      );
      if (subjects.size > 1) throw new Error('several subjects in one call');
      for (let i = turns(); i > 0; i--) await new Promise(setImmediate);
      if (away([...subjects][0] ?? '')) throw new Error('this node is gone');
      const answers = memory.perform(requests);
      for (let i = turns(); i > 0; i--) await new Promise(setImmediate);
      return answers;
    },
  };
}

const perIp = fixedWindow({ limit: 5, window: '1h' });
const perUser = tokenBucket({ capacity: 3, refill: 1, every: '1d' });
const limits = [
  { name: 'per-ip', policy: perIp },
  { name: 'per-user', policy: perUser },
] as const;
const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
};

describe('limits whose keys live on different nodes, and escalate', () => {
  it('count a denial at the node that denied, and take nothing at the others', async () => {
    const escalation = escalate({ after: 2, block: '2d', decay: '30d' });
    const limiter = createLimiter({ limits, escalate: escalation, store: nodes(() => 1), ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    await limiter.consume(keys, 3);

    const outcomes = [];
    for (let i = 0; i < 3; i++) {
      outcomes.push((await limiter.consume(keys)).outcome);
      await settled();
    }

    expect(outcomes).toEqual(['denied', 'blocked', 'blocked']);
    expect((await limiter.peek({ 'per-user': 'ann' }, 0)).outcome).toBe('blocked');
    expect(await limiter.peek({ 'per-ip': '192.0.2.1' }, 0)).toMatchObject({ outcome: 'allowed', remaining: 2 });
  });
});

describe('limits whose keys live on different nodes', () => {
  it('are decided together, in two round trips', async () => {
    const store = nodes(() => 1);
    const limiter = createLimiter({ limits, store, ...strict });

    const decision = await limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'ann' });

    expect(decision).toMatchObject({ allowed: true, policy: 'per-user', limit: 3, remaining: 2 });
    expect(decision.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['per-ip', 4],
      ['per-user', 2],
    ]);
    expect(store.asked).toBe(4); // a peek and a consume at each, both at once
  });

  it('take nothing when another denies, and say how they stand without it', async () => {
    const limiter = createLimiter({ limits, store: nodes(() => 1), ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    await limiter.consume(keys, 3);

    const denied = await limiter.consume(keys);
    await settled();

    expect(denied).toMatchObject({ allowed: false, outcome: 'denied', policy: 'per-user' });
    expect(denied.policies.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [false, 0],
    ]);
    expect((await limiter.peek({ 'per-ip': '192.0.2.1' })).remaining).toBe(2);
  });

  it('give back what they took when another is used up meanwhile, and say how they stand without it', async () => {
    const limiter = createLimiter({ limits, store: nodes(() => 1), ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };

    const [first, second] = await Promise.all([limiter.consume(keys, 2), limiter.consume(keys, 2)]);
    await settled();

    expect(first.allowed).toBe(true);
    expect(second).toMatchObject({ allowed: false, outcome: 'denied', policy: 'per-user' });
    expect(second.policies.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 3],
      [false, 1],
    ]);
    expect((await limiter.peek({ 'per-ip': '192.0.2.1' })).remaining).toBe(3);
  });

  it('leave a slot to who held it before, when another is used up while its holder asks again', async () => {
    const slots = { name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }) } as const;
    const once = { name: 'once', policy: fixedWindow({ limit: 1, window: '1h' }) } as const;
    const limiter = createLimiter({ limits: [slots, once], store: nodes(() => 1), ...strict });
    const held = await limiter.acquire({ slots: 'printer', once: 'bob' }, { holder: 'job 1' });

    const [other, again] = await Promise.all([
      limiter.acquire({ slots: 'plotter', once: 'ann' }),
      limiter.acquire({ slots: 'printer', once: 'ann' }, { holder: 'job 1' }),
    ]);
    await settled();

    expect([held, other, again].map(({ decision }) => decision.allowed)).toEqual([true, true, false]);
    expect(await held.renew()).toBe(true);
    expect((await limiter.acquire({ slots: 'printer' })).decision.allowed).toBe(false);
  });

  it('leave a slot to who held it before, when its holder asks again and another denies', async () => {
    const slots = { name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }) } as const;
    const once = { name: 'once', policy: fixedWindow({ limit: 1, window: '1h' }) } as const;
    const limiter = createLimiter({ limits: [slots, once], store: nodes(() => 1), ...strict });
    const keys = { slots: 'printer', once: 'ann' };
    const held = await limiter.acquire(keys, { holder: 'job 1' });

    const again = await limiter.acquire(keys, { holder: 'job 1' });
    const other = await limiter.acquire({ slots: 'plotter', once: 'ann' });
    await settled();

    expect([held, again, other].map(({ decision }) => decision.allowed)).toEqual([true, false, false]);
    expect(await held.renew()).toBe(true);
    expect((await limiter.acquire({ slots: 'plotter' })).decision.allowed).toBe(true);
  });

  it('keep their order, whichever subject comes twice', async () => {
    const third = { name: 'per-ip-day', policy: fixedWindow({ limit: 9, window: '1d' }) } as const;
    const limiter = createLimiter({ limits: [...limits, third], store: nodes(() => 1), ...strict });

    const { policies } = await limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'ann', 'per-ip-day': '192.0.2.1' });

    expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['per-ip', 4],
      ['per-user', 2],
      ['per-ip-day', 8],
    ]);
  });

  it('are all given back to by a refund, and reset and blocked together', async () => {
    const limiter = createLimiter({ limits, store: nodes(() => 1), ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    const decision = await limiter.consume(keys, 2);

    await limiter.refund(decision);
    expect((await limiter.peek(keys)).policies.map(({ remaining }) => remaining)).toEqual([5, 3]);
    await limiter.consume(keys, 2);
    await limiter.reset(keys);
    expect((await limiter.peek(keys)).policies.map(({ remaining }) => remaining)).toEqual([5, 3]);
    await limiter.block(keys, '1h');
    expect((await limiter.consume({ 'per-user': 'ann' })).outcome).toBe('blocked');
  });

  it('fail together when one node is gone, and the others get back what they gave', async () => {
    const store = nodes(
      () => 1,
      (subject) => subject === 'ann',
    );
    const limiter = createLimiter({ limits, store, ...strict });

    await expect(limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'ann' })).rejects.toMatchObject({
      code: 'SLUICE_STORE_FAILED',
    });
    await settled();

    expect((await limiter.peek({ 'per-ip': '192.0.2.1' })).remaining).toBe(5);
  });

  it('are decided here when one node is gone, under local', async () => {
    const store = nodes(
      () => 1,
      (subject) => subject === 'ann',
    );
    const limiter = createLimiter({ limits, store });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };

    const decisions = [await limiter.consume(keys, 3), await limiter.consume(keys)];

    expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'local'],
      [false, 'local'],
    ]);
  });

  it.each(['192.0.2.1', 'ann'])('tell what is to be mended, whichever node it comes from: %s', async (its) => {
    const inner = nodesOf(() => 1);
    const store: Store = onNodes({
      ...inner,
      perform: ([request]: readonly StoreRequest[]) => {
        const subject = request !== undefined && 'parts' in request ? request.parts[0]?.subject : '';
        return Promise.reject(
          subject === its ? new StoreError('SLUICE_TWINS_DISAGREE', 'mend this') : new Error('gone'),
        );
      },
    });
    const limiter = createLimiter({ limits, store });

    await expect(limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'ann' })).rejects.toMatchObject({
      code: 'SLUICE_TWINS_DISAGREE',
    });
  });

  it('ask no node while the breaker of another is open', async () => {
    const store = Object.assign(
      nodes(
        () => 1,
        (subject) => subject === 'ann',
      ),
      { breaker: { failures: 2 } },
    );
    const limiter = createLimiter({ limits, store });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    await limiter.consume(keys);
    await limiter.consume(keys);
    await settled();
    const asked = store.asked;

    expect((await limiter.consume(keys)).source).toBe('local');

    expect(store.asked).toBe(asked);
    expect((await limiter.consume({ 'per-ip': '192.0.2.1' })).source).toBe('redis');
  });

  it('take nothing on a peek', async () => {
    const limiter = createLimiter({ limits, store: nodes(() => 1), ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };

    const peeked = await limiter.peek(keys, 3);

    expect(peeked).toMatchObject({ allowed: true, policy: 'per-user' });
    expect((await limiter.peek(keys)).policies.map(({ remaining }) => remaining)).toEqual([5, 3]);
  });

  it('are given back to before the limiter is closed', async () => {
    let given = 0;
    const inner = nodesOf(() => 2);
    const store: Store = onNodes({
      ...inner,
      perform: async (requests: readonly StoreRequest[]) => {
        const answers = await inner.perform(requests);
        if (requests[0]?.op === 'refund') given++;
        return answers;
      },
    });
    const limiter = createLimiter({ limits, store, ...strict });
    const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
    await Promise.all([limiter.consume(keys, 2), limiter.consume(keys, 2)]);

    await limiter.close();

    expect(given).toBe(1);
  });

  it('allow no more than any limit, whatever comes when, and take nothing for what they deny', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.array(fc.record({ ip: fc.integer({ min: 0, max: 2 }), user: fc.integer({ min: 0, max: 2 }) }), {
          minLength: 1,
          maxLength: 25,
        }),
        async (seed, requests) => {
          const random = seeded(seed);
          const limiter = createLimiter({ limits, store: nodes(() => random.integer(0, 3)), ...strict });
          const taken = new Map<string, number>();
          const take = (key: string): unknown => taken.set(key, (taken.get(key) ?? 0) + 1);

          await Promise.all(
            requests.map(async ({ ip, user }) => {
              const { allowed } = await limiter.consume({
                'per-ip': `ip-${String(ip)}`,
                'per-user': `user-${String(user)}`,
              });
              if (!allowed) return;
              take(`ip-${String(ip)}`);
              take(`user-${String(user)}`);
            }),
          );
          await settled();

          for (const i of [0, 1, 2]) {
            const [ip, user] = [`ip-${String(i)}`, `user-${String(i)}`];
            expect((await limiter.peek({ 'per-ip': ip })).remaining).toBe(5 - (taken.get(ip) ?? 0));
            expect((await limiter.peek({ 'per-user': user })).remaining).toBe(3 - (taken.get(user) ?? 0));
          }
        },
      ),
      { numRuns: cases(60), seed: testSeed(42) },
    );
  });
});
