import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingLog,
  slidingCounter,
  slidingWindow,
  tokenBucket,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Policy,
} from '@sluice/old-core';
import { inspectKey, keyPattern, type KeyReport, type PolicyReport } from '@sluice/old-core/inspect';
import { algorithms } from '@sluice/old-core/spi';
import { useRedis, take } from '@sluice/testkit';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

const LONG = 'x'.repeat(60);
const hour = fixedWindow({ limit: 5, window: '1h' });

const limiterOf = (options: Omit<LimiterOptions, 'store'>): Limiter => {
  const all: object = {
    shared: true,
    onStoreError: 'throw',
    timeoutMs: 60_000,
    store: redisStore(redis.client, { prefix: 'sluice' }),
    ...options,
  };
  return createLimiter(all as LimiterOptions) as Limiter;
};

/** Reads the only key that has no details of another, at the instant of a decision. */
async function inspected({ atMs }: Pick<Decision, 'atMs'>, policies: readonly Policy[] = []): Promise<KeyReport> {
  const keys = await redis.admin.keys('*');
  const [key = ''] = keys.sort((a, b) => a.length - b.length); // not that of details
  return inspectKey(key, (await redis.admin.get(key)) ?? '', atMs, { prefix: 'sluice', policies });
}

const onlyPolicy = ({ policies: [report] }: KeyReport): PolicyReport => report as PolicyReport;

/** One per kind of policy, such that after three units nothing is rounded. */
const kinds: Readonly<Record<string, Policy>> = {
  fixedWindow: hour,
  slidingWindow: slidingWindow({ limit: 5, window: '1h' }),
  slidingCounter: slidingCounter({ limit: 5, window: '1h' }),
  tokenBucket: tokenBucket({ capacity: 5, refill: 1, every: '1h' }),
  intervalBucket: tokenBucket({ capacity: 5, refill: 1, every: '1h', mode: 'interval' }),
  slidingLog: slidingLog({ limit: 5, window: '1h' }),
  concurrency: concurrency({ limit: 5, ttl: '1h' }),
  leakyBucket: leakyBucket({ limit: 1, window: '1h', maxDelay: '4h' }),
};
const DETAILS: Readonly<Record<string, string>> = {
  slidingLog: 'sluice:{a}:api:2l:l1',
  concurrency: 'sluice:{a}:api:2c:c1',
};

it('is tested with every policy of the registry', () => {
  expect(Object.keys(kinds).sort()).toEqual(algorithms.map(({ name }) => name).sort());
});

describe('a key whose denials are counted', () => {
  const escalation = escalate({ after: 2, block: '1h', decay: '1d' });

  it('reports how many there were, how many blocks they led to, and when that is forgotten', async () => {
    const limiter = limiterOf({ policy: hour, escalate: escalation });
    const first = await limiter.consume('a', 6);
    const counted = await inspected(first);
    const second = await limiter.consume('a', 6);
    const blocked = await inspected(second);

    expect(counted).toMatchObject({ blockedUntilMs: null, denials: { count: 1, blocks: 0 } });
    expect(counted.denials?.forgottenAtMs).toBe(first.atMs + 86_400_000);
    expect(blocked).toMatchObject({ blockedUntilMs: second.atMs + 3_600_000, denials: { count: 0, blocks: 1 } });
    expect(onlyPolicy(blocked)).toMatchObject({ remaining: 0 });
  });

  it('reports none once they are forgotten', async () => {
    const { atMs, resetAfterMs } = await limiterOf({ policy: hour, escalate: escalation }).consume('a', 6);

    expect((await inspected({ atMs: atMs + resetAfterMs - 1 })).denials).not.toBeNull();
    expect((await inspected({ atMs: atMs + resetAfterMs })).denials).toBeNull();
  });

  it('reports denials even if the names of its policies are too long for the key', async () => {
    const policy = [`a${LONG}`, `b${LONG}`].map((name) => ({ ...hour, name }));
    const decision = await limiterOf({ policy, escalate: escalation }).consume('a', 6);

    const report = await inspected(decision);

    expect(report.policies).toEqual([]);
    expect(report.denials).toMatchObject({ count: 1, blocks: 0 });
  });
});

describe.each(Object.entries(kinds))('a key of a %s', (algorithm, policy) => {
  it('reports what the decision reported, when the policy is given', async () => {
    const decision = await take(limiterOf({ name: 'api', policy }), 'a', 3);

    const report = await inspected(decision, [policy]);

    expect(report).toMatchObject({ subject: 'a', limiter: 'api', blockedUntilMs: null, problem: null });
    expect(report.policies).toEqual([
      {
        name: 'api',
        algorithm,
        policy,
        version: null,
        used: 3,
        limit: 5,
        remaining: 2,
        resetAtMs: decision.atMs + decision.resetAfterMs,
        detailKey: DETAILS[algorithm] ?? null,
        override: null,
      },
    ]);
  });

  it('reports nothing wrong when the policy is not known', async () => {
    const decision = await take(limiterOf({ name: 'api', policy }), 'a', 3);

    const known = onlyPolicy(await inspected(decision, [policy]));
    const unknown = onlyPolicy(await inspected(decision));

    expect(unknown).toMatchObject({ name: 'api', algorithm, policy: null, limit: null, remaining: null });
    expect([known.used, null]).toContain(unknown.used);
    expect([known.resetAtMs, null]).toContain(unknown.resetAtMs);
  });

  it('is unused again after it ends', async () => {
    const decision = await take(limiterOf({ name: 'api', policy }), 'a', 3);
    const over = { atMs: decision.atMs + decision.resetAfterMs };

    expect(onlyPolicy(await inspected(over, [policy]))).toMatchObject({ used: 0, remaining: 5, resetAtMs: null });
  });
});

describe('without its policy', () => {
  it('a window tells what is used, and when it ends', async () => {
    const decision = await limiterOf({ policy: kinds['slidingWindow'] as Policy }).consume('a', 3);

    const report = onlyPolicy(await inspected(decision));

    expect(report).toMatchObject({ used: 3, resetAtMs: decision.atMs + decision.resetAfterMs });
  });

  it.each([
    ['a bucket says when it is full', tokenBucket({ capacity: 7, refill: 7, every: 11_000 })],
    ['a line says when it is empty', leakyBucket({ limit: 7, window: 11_000, maxDelay: 11_000 })],
  ])('%s', async (_says, policy) => {
    const decision = await limiterOf({ policy }).consume('a', 3);

    const report = onlyPolicy(await inspected(decision));

    expect(report).toMatchObject({ used: null, resetAtMs: decision.atMs + decision.resetAfterMs });
  });
});

describe('a long state', () => {
  it('is reported as of its last write: an upper bound of what is used now', async () => {
    const limiter = limiterOf({ name: 'api', policy: slidingLog({ limit: 5, window: '1h' }) });
    const { atMs } = await limiter.consume('a', 3);

    const report = inspectKey('sluice:{a}:api:2l', (await redis.admin.get('sluice:{a}:api:2l')) ?? '', atMs + 1_000, {
      prefix: 'sluice',
    });

    expect(onlyPolicy(report)).toMatchObject({ used: null, detailKey: 'sluice:{a}:api:2l:l1' });
  });

  it.each(['sluice:{a}:api:2l:l1', 'sluice:{a}:api:2f,c.running:c2', 'sluice:{a}:orders:2m:c1'])(
    'that is external, when asked about, says which key they belong to: %s',
    (key) => {
      const { problem, policies } = inspectKey(key, '', 1, { prefix: 'sluice' });

      expect(problem).toContain(`it holds the external state of ${key.slice(0, -3)}: inspect that key`);
      expect(policies).toEqual([]);
    },
  );

  it.each(['sluice:{a}:api:2f:f1', 'sluice:{a}:l1', 'other:{a}:api:2l:l1'])(
    'is distinguished from what looks like it: %s',
    (key) => {
      expect(inspectKey(key, '', 1, { prefix: 'sluice' }).problem).toMatch(/^this is not a key of a limiter/);
    },
  );
});

describe('a blocked key', () => {
  it('has nothing left until the end that is reported', async () => {
    const limiter = limiterOf({ policy: hour });
    await limiter.consume('a', 3);
    await limiter.block('a', '1m');
    const decision = await limiter.peek('a');

    const report = await inspected(decision, [hour]);

    expect(report.blockedUntilMs).toBe(decision.atMs + Number(decision.retryAfterMs));
    expect(onlyPolicy(report)).toMatchObject({ used: 3, limit: 5, remaining: 0 });
  });

  it('is free again after the block', async () => {
    const limiter = limiterOf({ policy: hour });
    await limiter.block('a', '1m');
    const { atMs } = await limiter.peek('a');

    const report = await inspected({ atMs: atMs + 60_000 }, [hour]);

    expect(report.blockedUntilMs).toBeNull();
    expect(onlyPolicy(report)).toMatchObject({ used: 0, remaining: 5 });
  });
});

describe('several policies under one key', () => {
  const burst = fixedWindow({ name: 'burst', limit: 3, window: '1m' });
  const steady = fixedWindow({ name: 'steady', limit: 100, window: '1h' });

  it('are each read by the policy of their name', async () => {
    const decision = await limiterOf({ policy: [burst, steady] }).consume('a');

    const report = await inspected(decision, [steady, burst]);

    expect(report.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['burst', 2],
      ['steady', 99],
    ]);
  });

  it('are reported as far as they are known', async () => {
    const decision = await limiterOf({ policy: [burst, steady] }).consume('a');

    const report = await inspected(decision, [burst]);

    expect(report.policies.map(({ used, remaining }) => [used, remaining])).toEqual([
      [1, 2],
      [1, null],
    ]);
  });

  it('are read by a policy without a name, if its kind is theirs', async () => {
    const decision = await limiterOf({ policy: [burst, steady] }).consume('a');

    const report = await inspected(decision, [fixedWindow({ limit: 10, window: '1m' })]);

    expect(report.policies.map(({ remaining }) => remaining)).toEqual([9, 9]);
  });

  it('with names too long for the key are read when all are given, in order', async () => {
    const policies = [burst, fixedWindow({ name: LONG, limit: 100, window: '1h' })];
    const decision = await limiterOf({ policy: policies }).consume('a');

    const told = await inspected(decision, policies);
    const untold = await inspected(decision, policies.toReversed());

    expect(told.policies.map(({ remaining }) => remaining)).toEqual([2, 99]);
    expect(untold).toMatchObject({ limiter: 'default', policies: [] });
    expect(untold.problem).toContain('too long for the key');
  });

  it('with names too long for the key still report whether it is blocked', async () => {
    const limiter = limiterOf({ policy: [burst, fixedWindow({ name: LONG, limit: 100, window: '1h' })] });
    await limiter.consume('a');
    await limiter.block('a', '1m');
    const decision = await limiter.peek('a');

    expect((await inspected(decision)).blockedUntilMs).toBe(decision.atMs + Number(decision.retryAfterMs));
  });
});

describe('a policy that is not the one that wrote the state', () => {
  /** Of each kind, one that could not have made three units last so long. */
  const shorter: Readonly<Record<string, Policy>> = {
    fixedWindow: fixedWindow({ limit: 5, window: '59m' }),
    slidingWindow: slidingWindow({ limit: 5, window: '30m' }),
    slidingCounter: slidingCounter({ limit: 5, window: '20m' }),
    tokenBucket: tokenBucket({ capacity: 5, refill: 1, every: '30m' }),
    intervalBucket: tokenBucket({ capacity: 2, refill: 1, every: '1h', mode: 'interval' }),
    concurrency: concurrency({ limit: 5, ttl: '59m' }),
    leakyBucket: leakyBucket({ limit: 1, window: '30m', maxDelay: '2h' }),
  };

  // A slidingLog does not say how long its window is.
  it.each(Object.entries(kinds).filter(([name]) => name !== 'slidingLog'))(
    'is reported, if the state lasts too long for it: %s',
    async (name, policy) => {
      const decision = await take(limiterOf({ name: 'api', policy }), 'a', 3);

      const { problem, policies } = await inspected(decision, [shorter[name] as Policy]);

      expect(problem).toMatch(/^the state of api lasts longer than the given policy can make it last/);
      expect(policies).toHaveLength(1);
    },
  );

  it.each(Object.entries(kinds))(
    'is not suspected of it, where it has just taken all there is: %s',
    async (_, policy) => {
      const decision = await take(limiterOf({ policy }), 'a', 5);

      expect((await inspected(decision, [policy])).problem).toBeNull();
      expect((await inspected(decision)).problem).toBeNull();
    },
  );
});

describe('a key with another layout', () => {
  it.each([
    'other:{a}:api:2f',
    'sluice:a:api:2f',
    'sluice:{a}',
    'sluice:{a}:api',
    'sluice:{a}:api:1f',
    'sluice:{a}:api:3f',
    'sluice:{a}:api:2',
    'sluice:{a}:api:2x',
    'sluice:{a}:api:2f,',
    'sluice:{a}:api:2ff',
    'sluice:{a}:api:2f.',
    'sluice:{a}:9:2f',
    'sluice:{}:api:2f',
    'sluice:{a}b}:api:2f',
  ])('is reported as such: %s', (key) => {
    expect(inspectKey(key, '1', 1, { prefix: 'sluice' })).toEqual({
      key,
      subject: null,
      limiter: null,
      blockedUntilMs: null,
      denials: null,
      policies: [],
      problem: 'this is not a key of a limiter, or one of another version of Sluice',
    });
  });

  it.each(['hello', '1', '!', '!1', '!x!', '1 2', '9:9:9'])('is reported to hold a foreign value: %j', (value) => {
    const report = inspectKey('sluice:{a}:api:2f,s.slow', value, 1, { prefix: 'sluice' });

    expect(report.problem).toBe('its value is not one that its policies write');
    expect(report).toMatchObject({ subject: 'a', limiter: 'api', policies: [] });
  });
});

describe('the pattern of a subject', () => {
  it.each(['a', 'a*', '[a]', 'a?', 'a\\', '{a}', '#a', 'é', 'x'.repeat(100), '203.0.113.7|/users/:id'])(
    'finds its keys and no other: %s',
    async (subject) => {
      const limiter = limiterOf({ policy: hour });
      await Promise.all([subject, `${subject}b`, 'ab', 'a', 'x'.repeat(101)].map((each) => limiter.consume(each)));

      const found = await redis.admin.keys(keyPattern(subject, 'sluice'));

      expect(found).toHaveLength(1);
      await limiter.reset(subject);
      expect(await redis.admin.keys(keyPattern(subject, 'sluice'))).toEqual([]);
    },
  );

  it('rejects an invalid key', () => {
    expect(() => keyPattern('', 'sluice')).toThrow(expect.objectContaining({ code: 'SLUICE_KEY_INVALID' }));
  });
});
