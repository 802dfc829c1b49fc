import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  silenceWarnings,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/old-core';
import { createPolicies, definitionsOf, managed, type Policies } from '@sluice/old-managed';
import { inspectKey, type KeyReport } from '@sluice/old-core/inspect';
import { useRedis } from '@sluice/testkit';

silenceWarnings('SLUICE_POLICIES_LOST');
const redis = useRedis();
let policies: Policies;
const limiters: Limiter[] = [];
beforeEach(async () => {
  await redis.admin.flushall();
  policies = createPolicies(redis.admin, { prefix: 'sluice' });
});
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
  await policies.close();
});

const HUNDRED = fixedWindow({ limit: 100, window: '1h' });
const put = (policy: Policy, carryOver: 'keep' | 'reset' = 'keep') =>
  policies.put('orders', policy, { apps: ['checkout'], carryOver });

const limiterOf = (): Limiter => {
  const store = redisStore(redis.admin, { prefix: 'sluice' });
  const policy = managed('orders');
  const limiter = createLimiter({ policy, app: 'checkout', store, onStoreError: 'throw', timeoutMs: 60_000 });
  limiters.push(limiter);
  return limiter;
};

async function recordsNow(): Promise<Record<string, unknown>> {
  const texts = Object.entries(await redis.admin.hgetall('sluice:policies'));
  return Object.fromEntries(
    texts.filter(([name]) => name === 'orders').map(([name, text]) => [name, JSON.parse(text) as unknown]),
  );
}

/** Reads the only key of the policy, as things stand. */
async function inspected(atMs: number, records?: Readonly<Record<string, unknown>>): Promise<KeyReport> {
  const [key = ''] = await redis.admin.keys('*:orders:*');
  return inspectKey(key, (await redis.admin.get(key)) ?? '', atMs, {
    prefix: 'sluice',
    definitions: definitionsOf(records ?? (await recordsNow())),
  });
}

describe('the key of a managed policy', () => {
  it('is read by the policy of its record', async () => {
    const { version } = await put(HUNDRED);
    const { atMs, resetAfterMs } = await limiterOf().consume('a', 30);

    expect(await inspected(atMs)).toEqual({
      key: 'sluice:{a}:orders:2m',
      subject: 'a',
      limiter: null,
      blockedUntilMs: null,
      denials: null,
      policies: [
        {
          name: 'orders',
          algorithm: 'fixedWindow',
          policy: HUNDRED,
          version,
          override: null,
          used: 30,
          limit: 100,
          remaining: 70,
          resetAtMs: atMs + resetAfterMs,
          detailKey: null,
        },
      ],
      problem: null,
    });
  });

  it('has nothing left while it is blocked', async () => {
    await put(HUNDRED);
    const limiter = limiterOf();
    await limiter.consume('a', 30);
    await limiter.block('a', '1m');
    const { atMs, retryAfterMs } = await limiter.peek('a');

    const report = await inspected(atMs);

    expect(report.blockedUntilMs).toBe(atMs + Number(retryAfterMs));
    expect(report.policies).toMatchObject([{ used: 30, remaining: 0 }]);
  });

  it('may be blocked and unused', async () => {
    await put(HUNDRED);
    const limiter = limiterOf();
    await limiter.block('a', '1m');
    const { atMs } = await limiter.peek('a');

    expect((await inspected(atMs)).policies).toMatchObject([{ used: 0, version: null, resetAtMs: null }]);
  });
});

describe('a state of an earlier version', () => {
  it.each<['keep' | 'reset', Policy]>([
    ['keep', fixedWindow({ limit: 50, window: '1h' })],
    ['reset', fixedWindow({ limit: 50, window: '1h' })],
    ['keep', slidingWindow({ limit: 50, window: '1h' })],
    ['keep', tokenBucket({ capacity: 50, refill: 1, every: '1h' })],
    ['keep', tokenBucket({ capacity: 50, refill: 1, every: '1h', mode: 'interval' })],
  ])('is reported as a limiter would find it: %s, %j', async (carryOver, policy) => {
    const { version } = await put(HUNDRED);
    await limiterOf().consume('a', 30);
    await put(policy, carryOver);
    const { atMs, limit, remaining, resetAfterMs } = await limiterOf().peek('a');

    expect((await inspected(atMs)).policies).toEqual([
      {
        name: 'orders',
        algorithm: policy.algorithm,
        policy,
        version,
        override: null,
        used: limit - remaining,
        limit,
        remaining,
        resetAtMs: resetAfterMs === 0 ? null : atMs + resetAfterMs,
        detailKey: null,
      },
    ]);
  });

  it('that the record does not know is reported as used up', async () => {
    const { version } = await put(HUNDRED);
    const { atMs } = await limiterOf().consume('a', 30);
    await put(fixedWindow({ limit: 50, window: '1h' }));
    const { orders } = (await recordsNow()) as { orders: object };

    const report = await inspected(atMs, { orders: { ...orders, earlier: [] } });

    expect(report.policies).toMatchObject([{ version, used: 50, remaining: 0 }]);
  });

  it('is read by the current policy, through several changes', async () => {
    await put(HUNDRED);
    await limiterOf().consume('a', 30);
    await put(fixedWindow({ limit: 50, window: '1h' }));
    await put(fixedWindow({ limit: 40, window: '1h' }));
    const { atMs } = await limiterOf().peek('a');

    expect((await inspected(atMs)).policies).toMatchObject([{ used: 30, limit: 40, remaining: 10 }]);
  });
});

describe('a managed policy that cannot be reported', () => {
  it('was removed', async () => {
    await put(HUNDRED);
    const { atMs } = await limiterOf().consume('a');
    await policies.remove('orders');

    expect(await inspected(atMs)).toMatchObject({ policies: [], problem: 'the managed policy orders was removed' });
  });

  it.each([
    [{}, 'there is no managed policy orders'],
    [{ orders: null }, 'the managed policy orders cannot be used: it is no record of a policy'],
    [{ orders: { format: 9, version: 1 } }, 'the managed policy orders cannot be used: its record has format 9'],
  ])('is not known: %j', async (records, problem) => {
    await put(HUNDRED);
    const { atMs } = await limiterOf().consume('a');

    const report = await inspected(atMs, records);

    expect(report).toMatchObject({ subject: 'a', limiter: null, policies: [] });
    expect(report.problem).toContain(problem);
  });

  it('is older than what wrote the state', async () => {
    await put(HUNDRED);
    const records = await recordsNow();
    const { version } = await put(fixedWindow({ limit: 50, window: '1h' }));
    const { atMs } = await limiterOf().consume('a');

    const { problem } = await inspected(atMs, records);

    expect(problem).toContain(`version ${String(version)} of orders wrote it`);
  });

  it.each(['hello', '7', '7;', ';1', '!1', '!x!7;1', '7;hello'])('is not what the key holds: %j', async (value) => {
    await put(HUNDRED);
    const { orders } = (await recordsNow()) as { orders: object };

    const report = inspectKey('sluice:{a}:orders:2m', value, 1, {
      prefix: 'sluice',
      definitions: definitionsOf({ orders: { ...orders, version: 7 } }),
    });

    expect(report.policies).toEqual([]);
    expect(report.problem).toContain('its value is not one that');
  });
});

describe('a key with an override', () => {
  const fixed = (limit: number): Policy => fixedWindow({ limit, window: '1h' });
  const audit = { by: 'eve', reason: 'a sale' };

  async function inspectedNow(key: string, atMs: number): Promise<KeyReport> {
    const name = `sluice:{${key}}:orders:2m`;
    return inspectKey(name, (await redis.admin.get(name)) ?? '', atMs, {
      prefix: 'sluice',
      definitions: await policies.definitions(),
    });
  }

  it('is reported by its numbers, with who set them and why', async () => {
    await put(HUNDRED);
    await policies.override('orders', 'a', fixed(500), audit);
    await policies.override('orders', { prefix: 'org-7:' }, fixed(50), audit);
    const { atMs } = await limiterOf().consume('a', 30);
    await limiterOf().consume('org-7:b', 20);
    await limiterOf().consume('c', 10);

    const reports = await Promise.all(['a', 'org-7:b', 'c'].map(async (key) => inspectedNow(key, atMs)));

    expect(reports.map(({ problem, policies: [report] }) => [problem, report])).toMatchObject([
      [null, { limit: 500, remaining: 470, override: { target: 'a', ...audit, untilMs: null } }],
      [null, { limit: 50, remaining: 30, override: { target: { prefix: 'org-7:' }, ...audit } }],
      [null, { limit: 100, remaining: 90, override: null }],
    ]);
  });

  it('of a state that other numbers wrote is reported as a limiter finds it', async () => {
    await put(HUNDRED);
    await limiterOf().consume('a', 30);
    await policies.override('orders', 'a', fixed(20), audit);
    const under = await limiterOf().peek('a');
    const smaller = await inspectedNow('a', under.atMs);
    await policies.removeOverride('orders', 'a', audit);
    const after = await limiterOf().peek('a');
    const removed = await inspectedNow('a', after.atMs);

    expect(smaller.policies).toMatchObject([{ limit: 20, used: 30, remaining: 0 }]);
    expect(removed.policies).toMatchObject([{ limit: 100, used: 30, remaining: 70, override: null }]);
  });

  it('that has ended has the numbers of the next one', async () => {
    await put(HUNDRED);
    const untilMs = Date.now() + 3_600_000;
    await policies.override('orders', { prefix: 'org-7:' }, fixed(50), audit);
    await policies.override('orders', 'org-7:b', fixed(500), { ...audit, until: untilMs });
    const { atMs } = await limiterOf().consume('org-7:b', 20);
    const name = 'sluice:{org-7:b}:orders:2m';
    const value = (await redis.admin.get(name)) ?? '';
    const records = { ...(await recordsNow()), ...(await overridesNow()) };

    const [before, after] = [untilMs - 1000, untilMs + 1].map(
      (nowMs) =>
        inspectKey(name, value, atMs, { prefix: 'sluice', definitions: definitionsOf(records, nowMs) }).policies[0],
    );

    expect(before).toMatchObject({ limit: 500, remaining: 480, override: { untilMs } });
    expect(after).toMatchObject({ limit: 50, remaining: 30, override: { target: { prefix: 'org-7:' } } });
  });
});

async function overridesNow(): Promise<Record<string, unknown>> {
  const texts = Object.entries(await redis.admin.hgetall('sluice:{#overrides}:records'));
  return Object.fromEntries(texts.map(([name, text]) => [name, JSON.parse(text) as unknown]));
}
