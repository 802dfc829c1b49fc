import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  PolicyError,
  tokenBucket,
  type Decision,
  type Escalation,
  type Limiter,
  type Store,
} from '@sluice/old-core';
import { fakeClock, useRedis, virtualRedisStore, type FakeClock, expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_MEMORY_SATURATED');

const redis = useRedis();

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

const perMinute = fixedWindow({ limit: 2, window: '1m' });

interface Setting {
  readonly limiter: Limiter;
  readonly clock: FakeClock;
  /** Denies so many requests; how each was answered. */
  deny(count: number, key?: string): Promise<Decision[]>;
}

let made = 0;

describe.each<{ where: string; store: (clock: FakeClock) => Store }>([
  { where: 'in memory', store: (clock) => memoryStore({ clock }) },
  { where: 'in Redis', store: (clock) => virtualRedisStore(redis.client, clock, { prefix: 'sluice' }) },
])('escalation $where', ({ store }) => {
  const setting = (escalation: Escalation): Setting => {
    const clock = fakeClock();
    const limiter = createLimiter({
      name: `escalation-${String(made++)}`,
      policy: perMinute,
      escalate: escalation,
      store: store(clock),
      onStoreError: 'throw',
      timeoutMs: MINUTE,
    });
    const deny = async (count: number, key = 'ann'): Promise<Decision[]> => {
      const answers: Decision[] = [];
      for (let i = 0; i < count; i++) answers.push(await limiter.consume(key, 3)); // more than there ever is
      return answers;
    };
    return { limiter, clock, deny };
  };
  /** How long the next block lasts, in a key that is not blocked. */
  const nextBlockMs = async ({ limiter, deny }: Setting, after: number): Promise<number> => {
    await deny(after);
    const { outcome, retryAfterMs } = await limiter.peek('ann', 0);
    expect(outcome).toBe('blocked');
    return retryAfterMs ?? NaN;
  };

  it('blocks a key with the denial that is one too many', async () => {
    const { limiter, clock } = setting(escalate({ after: 3, block: '5m', decay: '1h' }));
    await limiter.consume('ann', 2);
    clock.advance(SECOND);

    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await limiter.consume('ann'));

    expect(outcomes(answers)).toEqual(['denied', 'denied', 'blocked', 'blocked', 'blocked']);
    expect(answers.map(({ retryAfterMs, remaining, resetAfterMs }) => [retryAfterMs, remaining, resetAfterMs])).toEqual(
      [
        [59 * SECOND, 0, HOUR],
        [59 * SECOND, 0, HOUR],
        [5 * MINUTE, 0, 5 * MINUTE + HOUR],
        [5 * MINUTE, 0, 5 * MINUTE + HOUR],
        [5 * MINUTE, 0, 5 * MINUTE + HOUR],
      ],
    );
    expect((await limiter.consume('bob')).outcome).toBe('allowed');
  });

  it('waits for the policy, where that is longer than the block', async () => {
    const { limiter } = setting(escalate({ after: 1, block: '1s', decay: '1h' }));
    await limiter.consume('ann', 2);

    expect(await limiter.consume('ann')).toMatchObject({ outcome: 'blocked', retryAfterMs: MINUTE });
  });

  it('doubles the length of each further block, up to a day', async () => {
    const scene = setting(escalate({ after: 2, block: '3h', decay: '7d' }));

    const lengths = [];
    for (let i = 0; i < 6; i++) {
      const lengthMs = await nextBlockMs(scene, 2);
      lengths.push(lengthMs);
      scene.clock.advance(lengthMs);
    }

    expect(lengths).toEqual([3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, DAY, DAY]);
  });

  it('does not shorten a block that is longer than a day', async () => {
    const scene = setting(escalate({ after: 1, block: '2d', decay: '7d' }));

    const first = await nextBlockMs(scene, 1);
    scene.clock.advance(first);

    expect([first, await nextBlockMs(scene, 1)]).toEqual([2 * DAY, 2 * DAY]);
  });

  it('takes the lengths of a list in order, and the last one again and again', async () => {
    const scene = setting(escalate({ after: 1, block: ['1m', '10m', '1h'], decay: '1d' }));

    const lengths = [];
    for (let i = 0; i < 5; i++) {
      const lengthMs = await nextBlockMs(scene, 1);
      lengths.push(lengthMs);
      scene.clock.advance(lengthMs);
    }

    expect(lengths).toEqual([MINUTE, 10 * MINUTE, HOUR, HOUR, HOUR]);
  });

  it('counts nothing while the key is blocked, so that who hammers is not blocked for longer', async () => {
    const { limiter, clock, deny } = setting(escalate({ after: 2, block: '1m', decay: '1h' }));
    await deny(50);
    clock.advance(MINUTE - 1);
    const last = await deny(1);
    clock.advance(1);

    expect(last[0]).toMatchObject({ outcome: 'blocked' });
    expect((await limiter.peek('ann', 0)).retryAfterMs).toBe(0);
    expect((await limiter.consume('ann')).outcome).toBe('allowed');
    expect(outcomes(await deny(2))).toEqual(['denied', 'blocked']);
  });

  it('counts nothing while the owner blocks the key', async () => {
    const { limiter, clock, deny } = setting(escalate({ after: 2, block: '1m', decay: '1h' }));
    await limiter.block('ann', '10s');
    await deny(5);
    clock.advance(10 * SECOND);

    expect(outcomes(await deny(2))).toEqual(['denied', 'blocked']);
  });

  it('forgets denials when none came for as long as decay says, to the millisecond', async () => {
    const late = setting(escalate({ after: 2, block: '1m', decay: '1h' }));
    await late.deny(1);
    late.clock.advance(HOUR);
    const early = setting(escalate({ after: 2, block: '1m', decay: '1h' }));
    await early.deny(1);
    early.clock.advance(HOUR - 1);

    expect(outcomes(await late.deny(1))).toEqual(['denied']);
    expect(outcomes(await early.deny(1))).toEqual(['blocked']);
  });

  it('begins with the first length again when decay has passed since the end of the block, to the millisecond', async () => {
    const lengths = [];
    for (const waitMs of [HOUR - 1, HOUR]) {
      const scene = setting(escalate({ after: 1, block: '1m', decay: '1h' }));
      scene.clock.advance(await nextBlockMs(scene, 1));
      scene.clock.advance(waitMs);
      lengths.push(await nextBlockMs(scene, 1));
    }

    expect(lengths).toEqual([2 * MINUTE, MINUTE]);
  });

  it('counts a peek and a cost of 0 as nothing', async () => {
    const { limiter, deny } = setting(escalate({ after: 2, block: '1m', decay: '1h' }));
    await limiter.consume('ann', 2);
    for (let i = 0; i < 5; i++) {
      await limiter.peek('ann');
      await limiter.consume('ann', 0);
    }

    expect(outcomes(await deny(2))).toEqual(['denied', 'blocked']);
  });

  it('says in a peek that the next denial is a block, and does not set it', async () => {
    const { limiter } = setting(escalate({ after: 1, block: '5m', decay: '1h' }));
    await limiter.consume('ann', 2);

    const peeked = await limiter.peek('ann');

    expect(peeked).toMatchObject({ allowed: false, outcome: 'blocked', retryAfterMs: 5 * MINUTE });
    expect(await limiter.peek('ann', 0)).toMatchObject({ outcome: 'allowed' });
    expect(await limiter.consume('ann')).toEqual(peeked);
  });

  it('is not moved by a clock that steps back but by that step', async () => {
    const scene = setting(escalate({ after: 2, block: '10m', decay: '1h' }));
    const { limiter, clock, deny } = scene;
    await deny(1);
    clock.advance(-5 * SECOND);
    const second = await limiter.peek('ann', 3);
    await deny(1);
    const atFirst = await limiter.peek('ann', 0);
    clock.advance(-5 * SECOND);
    const blocked = await limiter.peek('ann', 0);

    expect(second.outcome).toBe('blocked');
    expect(atFirst).toMatchObject({ outcome: 'blocked', retryAfterMs: 10 * MINUTE });
    expect(blocked).toMatchObject({ outcome: 'blocked', retryAfterMs: 10 * MINUTE + 5 * SECOND });
    clock.advance(10 * MINUTE + 5 * SECOND);
    expect((await limiter.peek('ann', 0)).outcome).toBe('allowed');
  });

  describe('unblock', () => {
    it('pardons: the block, the count and the blocks before', async () => {
      const scene = setting(escalate({ after: 2, block: '1m', decay: '1d' }));
      scene.clock.advance(await nextBlockMs(scene, 2));
      scene.clock.advance(await nextBlockMs(scene, 2));
      await scene.deny(1);

      await scene.limiter.unblock('ann');

      expect((await scene.limiter.peek('ann', 0)).resetAfterMs).toBe(0);
      expect(await nextBlockMs(scene, 2)).toBe(MINUTE);
    });
  });

  describe('reset', () => {
    it('forgets the count, but not the blocks before', async () => {
      const scene = setting(escalate({ after: 2, block: '1m', decay: '1d' }));
      scene.clock.advance(await nextBlockMs(scene, 2));
      await scene.deny(1);

      await scene.limiter.reset('ann');

      expect(outcomes(await scene.deny(1))).toEqual(['denied']);
      expect(await nextBlockMs(scene, 1)).toBe(2 * MINUTE);
    });

    it('leaves a block that it is in', async () => {
      const { limiter, deny } = setting(escalate({ after: 1, block: '1m', decay: '1d' }));
      await deny(1);

      await limiter.reset('ann');

      expect((await limiter.peek('ann', 0)).outcome).toBe('blocked');
    });
  });

  describe('of several limits with keys of their own', () => {
    const limits = [
      { name: 'per-ip', policy: fixedWindow({ limit: 5, window: '1m' }) },
      { name: 'per-user', policy: tokenBucket({ capacity: 2, refill: 1, every: '1h' }) },
    ] as const;

    it('counts at the limit that denies, takes nothing from the others, and blocks the key of that one', async () => {
      const clock = fakeClock();
      const limiter = createLimiter({
        name: `escalation-${String(made++)}`,
        limits,
        escalate: escalate({ after: 2, block: '2h', decay: '1d' }),
        store: store(clock),
        onStoreError: 'throw',
        timeoutMs: MINUTE,
      });
      const keys = { 'per-ip': '192.0.2.1', 'per-user': 'ann' };
      await limiter.consume(keys, 2);

      const answers = [await limiter.consume(keys), await limiter.consume(keys)];

      expect(outcomes(answers)).toEqual(['denied', 'blocked']);
      expect(answers[1]).toMatchObject({ policy: 'per-user', retryAfterMs: 2 * HOUR });
      expect((await limiter.peek({ 'per-user': 'ann' }, 0)).outcome).toBe('blocked');
      const perIp = await limiter.peek({ 'per-ip': '192.0.2.1' }, 0);
      expect([perIp.remaining, perIp.resetAfterMs]).toEqual([3, MINUTE]);
      expect((await limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'bob' })).outcome).toBe('allowed');
    });

    it('counts at both where both deny', async () => {
      const limiter = createLimiter({
        name: `escalation-${String(made++)}`,
        limits,
        escalate: escalate({ after: 1, block: '2h', decay: '1d' }),
        store: store(fakeClock()),
        onStoreError: 'throw',
        timeoutMs: MINUTE,
      });

      await limiter.consume({ 'per-ip': '192.0.2.1', 'per-user': 'ann' }, 9);

      expect((await limiter.peek({ 'per-ip': '192.0.2.1' }, 0)).outcome).toBe('blocked');
      expect((await limiter.peek({ 'per-user': 'ann' }, 0)).outcome).toBe('blocked');
    });
  });
});

describe('escalation', () => {
  it('is frozen data, so that it can be kept and sent', () => {
    const made = escalate({ after: 3, block: '6h', decay: '1d' });

    expect(made).toEqual({ after: 3, blocksMs: [6 * HOUR, 12 * HOUR, DAY], decayMs: DAY });
    expect([Object.isFrozen(made), Object.isFrozen(made.blocksMs)]).toEqual([true, true]);
    const copy = JSON.parse(JSON.stringify(made)) as Escalation;
    expect(() => createLimiter({ policy: perMinute, escalate: copy })).not.toThrow();
  });

  it('counts the denials of each key by itself, also where a memory store has more of them than room', async () => {
    const clock = fakeClock();
    const store = memoryStore({ clock, maxKeys: 2 });
    const limiter = createLimiter({
      policy: perMinute,
      escalate: escalate({ after: 1, block: '1h', decay: '1d' }),
      store,
    });
    await limiter.consume('one', 3);

    const allowed = [];
    const blocked = [];
    for (let i = 0; i < 20; i++) allowed.push(await limiter.consume(`stranger-${String(i)}`));
    for (let i = 0; i < 20; i++) blocked.push(await limiter.consume(`stranger-${String(i)}`, 3));

    expect(new Set(outcomes(allowed))).toEqual(new Set(['allowed']));
    expect(new Set(outcomes(blocked))).toEqual(new Set(['blocked']));
    expect((await limiter.consume('one')).outcome).toBe('blocked');
  });

  it('goes on in the stand-in while the store is away, with counts of its own', async () => {
    const away: Store = { source: 'redis', perform: async () => Promise.reject(new Error('away')) };
    const policy = fixedWindow({ limit: 10, window: '1m' });
    const escalation = escalate({ after: 2, block: '1h', decay: '1d' });
    const limiter = createLimiter({ policy, escalate: escalation, store: away, localShare: 0.5 });

    const answers = [await limiter.consume('ann', 6), await limiter.consume('ann', 6)];

    expect(answers.map(({ outcome, source, retryAfterMs }) => [outcome, source, retryAfterMs])).toEqual([
      ['denied', 'local', null],
      ['blocked', 'local', null],
    ]);
    expect((await limiter.consume('ann', 1)).outcome).toBe('blocked');
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      'no denials',
      () => escalate({ after: 0, block: '1m', decay: '1h' }),
      /^after must be a whole number of denials from 1 to \d+, got 0/,
    ],
    ['half a denial', () => escalate({ after: 1.5, block: '1m', decay: '1h' }), /^after must be .*got 1.5/],
    [
      'a block that is no time',
      () => escalate({ after: 1, block: 'soon' as '1m', decay: '1h' }),
      /^block must be a duration .*"soon"/,
    ],
    [
      'an empty list',
      () => escalate({ after: 1, block: [], decay: '1h' }),
      /^block must be a duration, or a list of 1 to 32/,
    ],
    ['a bad length in a list', () => escalate({ after: 1, block: ['1m', -1], decay: '1h' }), /^block\[1\] must be/],
    ['no decay', () => escalate({ after: 1, block: '1m' } as never), /^decay must be a duration/],
    ['another option', () => escalate({ after: 1, block: '1m', decay: '1h', max: 3 } as never), /"max"/],
    [
      'its options, not made',
      () => createLimiter({ policy: perMinute, escalate: { after: 5, block: '1m', decay: '1h' } as never }),
      /^escalate must be the result of escalate\(\), such as escalate\(\{ after: 5/,
    ],
    [
      'a bad copy',
      () => createLimiter({ policy: perMinute, escalate: { after: 5, blocksMs: [0], decayMs: 1 } }),
      /^escalate\.blocksMs\[0\] must be/,
    ],
  ])('denies %s', (_what, make, message) => {
    expect(make).toThrow(PolicyError);
    expect(make).toThrow(message);
  });
});

function outcomes(decisions: readonly Decision[]): string[] {
  return decisions.map(({ outcome }) => outcome);
}
