import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  policyOf,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Policy,
} from '../../src/index.ts';
import { allowedBy, ManualMembership, settled } from './manual-membership.ts';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m', align: 'clock' });

const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1s' });

describe('an instance that joins', () => {
  it('has no share before the first reply of the membership, whatever onStoreError is: a new instance has none anyway', async () => {
    const hand = new ManualMembership();
    const local = createLimiter({ policy: perMinute(10), store: hand.store });

    expect(await local.consume('key')).toMatchObject({ allowed: false, outcome: 'denied', source: 'split', limit: 10 });
    hand.pass(3999);
    expect((await local.consume('key')).allowed).toBe(false);
    const limiter = hand.limiter(slidingWindow({ limit: 5, window: '1s' }));
    expect((await limiter.consume('key')).allowed).toBe(false);
    expect((await hand.limiter(bucket, 'bucket').consume('key')).allowed).toBe(false);
    hand.pass(1); // the grace time has passed
    await expect(limiter.consume('key')).rejects.toMatchObject({
      ...{ code: 'SLUICE_SPLIT_UNCONFIRMED', kind: 'connection' },
      message: expect.stringMatching(/has not replied yet/),
    });
  });

  it('is denied, with the time to wait, until the others have noticed it and a window begins', async () => {
    const hand = new ManualMembership();
    const limiter = hand.limiter(perMinute(10));
    hand.confirm({ me: 1, other: 1 });

    const decision = await limiter.consume('key');

    // The longest that it can be, by a clock that may be slow.
    expect(decision).toMatchObject({
      allowed: false,
      outcome: 'denied',
      limit: 10,
      remaining: 0,
      retryAfterMs: 60_126,
    });
    expect(decision.policies[0]?.nextAfterMs).toBe(60_126);
    hand.live(58_000);
    expect(await allowedBy(limiter)).toBe(0);
    hand.live(2200);
    expect(await allowedBy(limiter)).toBe(5);
  });
});

describe('a share', () => {
  it('is reported by waits that are long enough', async () => {
    const hand = settled({ me: 1, other: 1 });
    const limiter = hand.limiter(tokenBucket({ capacity: 10, refill: 1, every: '1m' }));
    await allowedBy(limiter);

    const { retryAfterMs } = await limiter.consume('key');
    expect(retryAfterMs).toBeGreaterThanOrEqual(120_000);
    expect(retryAfterMs).toBeLessThan(120_300);
    hand.live(retryAfterMs ?? 0);

    expect(await limiter.consume('key')).toMatchObject({ allowed: true });
  });

  it.each([
    ['that a cost is above', { me: 1, other: 1 }, 10, 6, 5],
    ['of no unit', { a: 1, b: 1, me: 1 }, 2, 1, 0],
  ])('%s is never enough for it', async (_what, members, limit, cost, remaining) => {
    const decision = await settled(members).limiter(perMinute(limit)).consume('key', cost);

    expect(decision).toMatchObject({ allowed: false, retryAfterMs: null, limit, remaining });
  });

  it.each<[string, Policy, waitMs: number]>([
    ['the window in which the grace time ends', perMinute(10), 60_126],
    ['a window after the grace time', slidingWindow({ limit: 10, window: '1m' }), 64_135],
    ['its bucket is full again', tokenBucket({ capacity: 10, refill: 1, every: '6s' }), 76_161],
  ])('that is going to be enough for a cost is waited for, until after %s', async (_what, policy, waitMs) => {
    const hand = settled({ me: 1, other: 1 });
    const limiter = hand.limiter(policy);
    hand.confirm({ me: 1 });

    const { retryAfterMs } = await limiter.consume('key', 6);

    expect(retryAfterMs).toBe(waitMs);
    hand.live(waitMs);
    expect(await limiter.consume('key', 6)).toMatchObject({ allowed: true });
  });
});

describe('an instance that the membership may have lost', () => {
  it('has no share from just before it expires as a member, however late the reply came', async () => {
    const hand = settled({ me: 1 });
    const limiter = hand.limiter(perMinute(10));

    hand.pass(2996);
    expect((await limiter.consume('key')).allowed).toBe(true);
    hand.pass(1);
    hand.fail(new Error('connection lost'));

    await expect(limiter.consume('key')).rejects.toMatchObject({
      code: 'SLUICE_SPLIT_UNCONFIRMED',
      message: expect.stringMatching(/2997 ms ago.*expires after 3000 ms.*: connection lost/),
    });
  });
});

describe('units that are given back', () => {
  it.each([
    ['fixedWindow', perMinute(10)],
    ['slidingWindow', slidingWindow({ limit: 10, window: '1m' })],
    ['tokenBucket', tokenBucket({ capacity: 10, refill: 10, every: '30m' })],
  ] as const)('can be had again by %s, also when the clock has been read better since', async (_name, policy) => {
    const hand = settled({ me: 1, other: 1 });
    const limiter = hand.limiter(policy);
    const decision = await limiter.consume('key', 5);
    hand.live(2000);

    await limiter.refund(decision, 3);

    expect(await allowedBy(limiter)).toBe(3);
  });

  it('are those of a window that has ended, and no others', async () => {
    const hand = settled({ me: 1 });
    const limiter = hand.limiter(perMinute(10));
    const decision = await limiter.consume('key', 5);
    hand.live(60_000);
    await limiter.consume('key', 5);

    await limiter.refund(decision);

    expect(await allowedBy(limiter)).toBe(5);
  });
});

describe('a unit that may lie in one of two windows, because the clock is known to within ten milliseconds', () => {
  const atBoundary = (): { hand: ManualMembership; limiter: Limiter } => {
    const hand = settled({ me: 1 }, 10);
    return { hand, limiter: hand.limiter(perMinute(10)) };
  };

  it('is denied if one of them is used up: until the next has surely begun, or for the rest of both', async () => {
    const { hand, limiter } = atBoundary();
    await limiter.consume('both', 10);
    expect(await limiter.consume('both')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_132 });
    hand.live(59_000, 10);
    await limiter.consume('key', 10);
    hand.live(1000, 10);

    expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 6 });
    hand.pass(6);
    expect(await allowedBy(limiter)).toBe(10);
  });

  it.each([
    ['given back to', 4, 10 - 4],
    ['charged to', 9, 10 - 9],
  ])('is %s both', async (_how, actual, left) => {
    const { hand, limiter } = atBoundary();
    const { settle } = await limiter.reserve('key', 6);
    await settle(actual);
    hand.live(1000, 10);

    expect((await limiter.peek('key')).remaining).toBe(left);
  });
});

describe('a limit that changes', () => {
  it('keeps the units used, counts at once if it is cut, and from the next window on if it is raised', async () => {
    const hand = settled({ me: 1, other: 1 });
    let policy: Policy = perMinute(20);
    const limiter = hand.limiter(policyOf(() => policy));
    await limiter.consume('key', 3);
    await limiter.consume('cut', 3);
    hand.live(20_000);

    policy = perMinute(10);
    expect(await limiter.consume('cut')).toMatchObject({ allowed: true, limit: 10, remaining: 1 });
    policy = perMinute(40);
    expect(await limiter.peek('key', 11)).toMatchObject({ allowed: false, retryAfterMs: 40_084 });
    await limiter.charge('key', 2);
    expect(await allowedBy(limiter)).toBe(10 - 3 - 2);
    expect(await limiter.peek('key')).toMatchObject({ limit: 40, remaining: 0, retryAfterMs: 40_084 });
    expect(await allowedBy(limiter, 'unused')).toBe(20);
    hand.live(41_000);
    expect(await allowedBy(limiter)).toBe(20);
  });

  it.each([
    ['slidingWindow', (limit: number) => slidingWindow({ limit, window: '1m' })],
    ['tokenBucket', (limit: number) => tokenBucket({ capacity: limit, refill: 20, every: '1m' })],
  ])('counts at once for %s, which has no window that could end', async (_name, of) => {
    let policy: Policy = of(20);
    const limiter = settled({ me: 1, other: 1 }).limiter(policyOf(() => policy));
    await limiter.consume('key', 4);

    policy = of(40);
    expect(await allowedBy(limiter)).toBe(20 - 4);
    policy = of(20);
    expect(await allowedBy(limiter)).toBe(0);
  });

  it('to one that cannot be split leaves it to onStoreError', async () => {
    const limiter = settled({ me: 1 }).limiter(policyOf(() => slidingLog({ limit: 5, window: '1m' })));

    await expect(limiter.consume('key')).rejects.toMatchObject({
      code: 'SLUICE_SPLIT_UNCONFIRMED',
      message: expect.stringMatching(/cannot split the policy slidingLog 5 per 1m.*slidingWindow/),
    });
  });
});

describe('a key', () => {
  it('is blocked by a denial of the share, whatever other policies count it', async () => {
    const minute = fixedWindow({ name: 'minute', limit: 10, window: '1m', align: 'clock', blockFor: '1h' });
    const hand = settled({ me: 1, other: 1 });
    const limiter = hand.limiter([minute, tokenBucket({ name: 'burst', capacity: 100, refill: 1, every: '1s' })]);
    await allowedBy(limiter);
    hand.live(120_000);

    expect(await limiter.consume('key')).toMatchObject({ allowed: false, outcome: 'blocked' });
  });

  it('is blocked and reset in this instance, confirmed or not', async () => {
    const hand = new ManualMembership();
    const limiter = hand.limiter(perMinute(10));
    await limiter.block('key', '1h');
    hand.confirm({ me: 1 });
    hand.live(120_000);

    expect(await limiter.consume('key')).toMatchObject({ outcome: 'blocked', limit: 10 });
    await limiter.unblock('key');
    expect(await allowedBy(limiter)).toBe(10);
    await limiter.reset('key');
    expect(await allowedBy(limiter)).toBe(10);
  });
});

describe('the store', () => {
  it('reports invalid weights of a plain registry', () => {
    const hand = new ManualMembership();
    hand.limiter(perMinute(10));

    expect(() => hand.confirmUntimed({ me: 0.5 })).toThrow(
      /weight of a member must be a whole number from 1 to 1000000, got 0.5 for "me"/,
    );
  });

  it('is ready when its instance has been a member for long enough, and no earlier', async () => {
    const hand = new ManualMembership();
    hand.limiter(slidingWindow({ limit: 10, window: '10s' }));
    await expect(hand.store.ready(1)).rejects.toMatchObject({ code: 'SLUICE_SPLIT_UNCONFIRMED' });
    hand.confirm({ me: 1, other: 1 });
    await expect(hand.store.ready(1)).rejects.toMatchObject({
      code: 'SLUICE_STORE_TIMEOUT',
      message: expect.stringMatching(/in 14000 ms/),
    });
    hand.live(14_100);

    await expect(hand.store.ready(1)).resolves.toBeUndefined();
  });

  it('leaves the membership with its last limiter, and joins again when it is used again', async () => {
    const hand = settled({ me: 1 });
    const limiter = hand.limiter(perMinute(10));
    await limiter.consume('key');

    await limiter.close();
    expect(hand.left).toBe(1);
    const again = hand.limiter(perMinute(10));
    expect((await again.consume('key')).allowed).toBe(false);

    expect(hand.joined).toBe(2);
  });
});
