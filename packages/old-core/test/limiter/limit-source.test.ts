import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  type Limit,
  type Limiter,
  type RedisClient,
  type SingleLimiterOptions,
} from '@sluice/old-core';
import {
  MAKES_SOURCE,
  namePolicy,
  sourceKeySuffix,
  type LimitReference,
  type SourceSettings,
} from '@sluice/old-core/spi';
import { useRedis } from '@sluice/testkit';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const SUBJECTS = 100_000;
/** Units of each plan. A subject of the first one has no limit. */
const PLANS = [0, 2, 3, 5, 8, 13, 20_000] as const;
const MISSING = 0;
const HIGHEST = PLANS.length - 1;

const subjectOf = (i: number): string => `subject-${String(i)}`;

/** A source that knows a byte of each subject: its plan. Subjects of one plan have one limit. */
class Plans implements LimitReference {
  readonly name = 'plans';
  readonly plans = Uint8Array.from({ length: SUBJECTS }, (_, i) => 1 + (i % (HIGHEST - 1)));
  /** How many limits have been made. */
  made = 0;

  readonly [MAKES_SOURCE]: LimitReference[typeof MAKES_SOURCE] = (
    name,
    { limitOf, onUnconfigured: onMissing }: SourceSettings,
  ) => {
    const keySuffix = sourceKeySuffix(this.name);
    const limits = PLANS.map((limit): Limit => {
      this.made++;
      return limitOf([namePolicy(fixedWindow({ limit, window: '365d', align: 'clock' }), name)], keySuffix);
    });
    const current = (subject = subjectOf(0)): Limit | undefined => {
      const plan = this.plans[Number(subject.slice('subject-'.length))] as number;
      return plan === MISSING ? undefined : limits[plan];
    };
    return { name, keySuffix, onMissing, current };
  };

  limitOf(i: number): number {
    return PLANS[this.plans[i] as number] as number;
  }
}

const redis = useRedis();
let limiters: Limiter[] = [];
beforeEach(async () => {
  await redis.admin.flushall();
});
afterEach(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()));
  limiters = [];
});

function limiterOf(options: Partial<SingleLimiterOptions>): Limiter {
  const limiter = createLimiter({
    policy: new Plans(),
    onStoreError: 'throw',
    timeoutMs: 60_000,
    ...options,
  } as SingleLimiterOptions);
  limiters.push(limiter);
  return limiter;
}

/** A client that counts its calls. */
function counted(): { readonly client: RedisClient; calls: number } {
  const call =
    (how: 'eval' | 'evalsha') =>
    async (script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> => {
      found.calls++;
      return redis.client[how](script, keys.length, ...keys, ...args);
    };
  const found = { calls: 0, client: { eval: call('eval'), evalsha: call('evalsha') } };
  return found;
}

describe('limits that differ between subjects', () => {
  it('are decided in as many calls as a limit that all subjects share', async () => {
    const counts = await Promise.all(
      [new Plans(), fixedWindow({ limit: 5, window: '365d' })].map(async (policy, i) => {
        const watched = counted();
        const limiter = limiterOf({
          name: `n${String(i)}`,
          policy,
          store: redisStore(watched.client, { prefix: 'sluice' }),
        });
        await limiter.consume(subjectOf(0)); // loads the scripts
        watched.calls = 0;
        await Promise.all(Array.from({ length: 5_000 }, (_, j) => limiter.consume(subjectOf(j))));
        return watched.calls;
      }),
    );

    expect(counts[0]).toBe(counts[1]);
    expect(counts[0]).toBeLessThan(50);
  });

  it.each([
    ['in memory', () => memoryStore()],
    ['in Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
  ])('are each counted by their own numbers, %s', async (_where, store) => {
    const policy = new Plans();
    const limiter = limiterOf({ policy, store: store() });
    const some = Array.from({ length: 60 }, (_, i) => i * 1_663);

    const asked = some.flatMap((i) => Array.from({ length: 15 }, () => i));
    const decisions = await Promise.all(asked.map((i) => limiter.consume(subjectOf(i))));

    for (const i of some) {
      const own = decisions.filter((_, j) => asked[j] === i);
      expect(own.map(({ limit }) => limit)).toEqual(Array(15).fill(policy.limitOf(i)));
      expect(own.map(({ allowed }) => allowed)).toEqual(own.map((_, j) => j < policy.limitOf(i)));
    }
    await limiter.reset(subjectOf(0));
    const again = await limiter.consume(subjectOf(0), 2);
    expect(again).toMatchObject({ allowed: true, used: 2, limit: 2 });
    await limiter.refund(again, 1);
    expect(await limiter.peek(subjectOf(0))).toMatchObject({ used: 1, remaining: 1 });
  });

  it('cost no more memory than their table, however many subjects there are', async () => {
    const policy = new Plans();
    const limiter = limiterOf({ policy, store: memoryStore({ maxKeys: 1_000 }) });
    const run = async (): Promise<void> => {
      for (let i = 0; i < SUBJECTS; i++) await limiter.consume(subjectOf(i));
    };
    await run();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;

    await run();

    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(SUBJECTS * 10);
    expect(policy.made).toBe(PLANS.length);
  });

  it('are denied from the denial cache, until their own numbers change', async () => {
    const policy = new Plans();
    const limiter = limiterOf({
      policy,
      store: redisStore(redis.client, { prefix: 'sluice' }),
      denialCache: { maxAge: '1h' },
    });
    const [few, more] = [subjectOf(0), subjectOf(3)]; // of 2 and of 8
    for (const subject of [few, more]) while ((await limiter.consume(subject)).allowed);

    expect(await limiter.consume(few)).toMatchObject({ source: 'cache', limit: 2, used: 2 });
    expect(await limiter.consume(more)).toMatchObject({ source: 'cache', limit: 8, used: 8 });
    policy.plans[0] = 3;

    expect(await limiter.consume(few)).toMatchObject({ source: 'redis', allowed: true, limit: 5, used: 3 });
    expect(await limiter.consume(more)).toMatchObject({ source: 'cache', limit: 8 });
  });

  it.each([
    ['deny', { outcome: 'unconfigured', allowed: false }],
    ['allow', { outcome: 'unconfigured', allowed: true }],
  ] as const)('are missing for one subject alone, under onUnconfigured: %s', async (onUnconfigured, missing) => {
    const policy = new Plans();
    policy.plans[5] = MISSING;
    const limiter = limiterOf({ policy, onUnconfigured });

    expect(await limiter.consume(subjectOf(5))).toMatchObject(missing);
    expect(await limiter.consume(subjectOf(6))).toMatchObject({ outcome: 'allowed', limit: policy.limitOf(6) });
    await expect(limiter.reset(subjectOf(5))).rejects.toMatchObject({ code: 'SLUICE_POLICY_UNCONFIGURED' });
  });

  it('stand beside others in one decision, all or nothing', async () => {
    const policy = new Plans();
    const limiter = createLimiter({
      limits: [
        { name: 'own', policy },
        { name: 'all', policy: fixedWindow({ limit: 4, window: '365d' }) },
      ],
      store: redisStore(redis.client, { prefix: 'sluice' }),
      onStoreError: 'throw',
    });
    limiters.push(limiter as unknown as Limiter);
    const consume = (i: number): ReturnType<typeof limiter.consume> => limiter.consume({ own: subjectOf(i), all: 'x' });

    const decisions = [];
    for (const i of [0, 0, 0, 1, 1, 2]) decisions.push(await consume(i));

    expect(decisions.map(({ allowed, policy: by }) => [allowed, by])).toEqual([
      [true, 'own'],
      [true, 'own'],
      [false, 'own'],
      [true, expect.any(String)],
      [true, 'all'],
      [false, 'all'],
    ]);
  });
});
