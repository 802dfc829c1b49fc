import { afterAll, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type OnStoreError,
  type Policy,
} from '@sluice/old-core';
import { expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 5, window: '1d' });
const limits = [
  { name: 'ip', policy },
  { name: 'user', policy: fixedWindow({ limit: 9, window: '1d' }) },
] as const;

describe('units of keys', () => {
  it('are given back and charged under several limits at once, of those that have a key', async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume({ ip: '::1', user: 'ann' }, 4);

    await limiter.refund({ ip: '::1', user: 'ann' }, 3);
    await limiter.charge({ user: 'ann' }, 2);

    const { policies } = await limiter.peek({ ip: '::1', user: 'ann' }, 0);
    expect(policies.map(({ used }) => used)).toEqual([1, 3]);
  });

  it('are those of a key alone: whatever else is given to refund is no decision', async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume({ ip: '::1', user: 'ann' }, 4);

    const others = [{}, { ip: '::1', host: 'a' }, { ip: 5 }, { ip: '::1', user: undefined }, 'ip', null, [], ['::1']];
    for (const other of others) {
      await expect(limiter.refund(other as never)).rejects.toMatchObject({
        name: 'TypeError',
        code: 'SLUICE_DECISION_UNKNOWN',
      });
    }
    expect((await limiter.peek({ ip: '::1' }, 0)).used).toBe(4);
  });

  it('are rejected with a bad key or cost, and then nothing happens', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key', 2);
    const refund = limiter.refund.bind(limiter) as (key: unknown, cost?: unknown) => Promise<void>;
    const charge = limiter.charge.bind(limiter) as (key: unknown, cost?: unknown) => Promise<void>;

    await expect(refund('')).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    await expect(charge('', 1)).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    await expect(charge('key')).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_COST_INVALID' });
    for (const cost of [-1, 0.5, Number.NaN, Infinity, 2 ** 53]) {
      await expect(refund('key', cost)).rejects.toMatchObject({ name: 'RangeError', code: 'SLUICE_COST_INVALID' });
      await expect(charge('key', cost)).rejects.toMatchObject({ name: 'RangeError', code: 'SLUICE_COST_INVALID' });
    }
    expect((await limiter.peek('key', 0)).used).toBe(2);
  });

  it.each<[string, Policy | readonly Policy[]]>([
    ['alone', concurrency({ limit: 3, ttl: '1m' })],
    [
      'beside another',
      [
        { ...concurrency({ limit: 3, ttl: '1m' }), name: 'slots' },
        { ...policy, name: 'calls' },
      ],
    ],
  ])('do not release slots, which have holders: concurrency %s', async (_how, held) => {
    const limiter = createLimiter({ policy: held });
    await limiter.acquire('key');

    for (const attempt of [limiter.refund('key'), limiter.charge('key', 1), limiter.refund('key', 0)]) {
      await expect(attempt).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_ACQUIRE_NEEDED' });
    }
    expect((await limiter.peek('key', 0)).policies.map(({ used }) => used)).toEqual([held].flat().map(() => 1));
  });

  it('cannot be changed once the limiter is closed', async () => {
    const limiter = createLimiter({ policy });
    await limiter.close();

    await expect(limiter.refund('key')).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
    await expect(limiter.charge('key', 1)).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });

  it('of an escalating limiter leave its count of denials', async () => {
    const limiter = createLimiter({ policy, escalate: escalate({ after: 2, block: '1h', decay: '1h' }) });
    await limiter.consume('key', 5);
    await limiter.consume('key');

    await limiter.refund('key', 5);
    await limiter.charge('key', 5);

    expect((await limiter.consume('key')).outcome).toBe('blocked');
  });
});

describe('a block with a bad option', () => {
  it.each([
    [{ resets: true }, 'SLUICE_OPTION_UNKNOWN'],
    [{ reset: 'yes' }, 'SLUICE_OPTION_INVALID'],
    ['reset', 'SLUICE_OPTION_INVALID'],
  ])('%j is rejected, and blocks nothing', async (options, code) => {
    const limiter = createLimiter({ policy });

    await expect(limiter.block('key', '1h', options as never)).rejects.toMatchObject({ code });
    expect((await limiter.peek('key')).outcome).toBe('allowed');
  });
});

describe('while the store fails', () => {
  const open: Limiter[] = [];
  afterAll(async () => {
    await Promise.all(open.map((limiter) => limiter.close()));
  });
  /** No server listens on port 1. */
  const limiterOf = (onStoreError: OnStoreError): Limiter => {
    const limiter = createLimiter({
      policy,
      onStoreError,
      store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }),
    });
    open.push(limiter);
    return limiter;
  };
  const failure = expect.objectContaining({ code: expect.stringMatching(/^SLUICE_STORE_/) }) as unknown;

  it('decisions of the local fallback say why the store did not decide, and what is used here', async () => {
    const limiter = limiterOf('local');

    expect(await limiter.consume('key', 3)).toMatchObject({ source: 'local', used: 3, error: failure });
    expect(await limiter.peek('key')).toMatchObject({ source: 'local', used: 3, error: failure });
    for (let i = 0; i < 10; i++) await limiter.consume('other');
    const { error } = await limiter.consume('key');
    expect(error).toMatchObject({ code: 'SLUICE_BREAKER_OPEN', cause: failure });
  });

  it.each(['allow', 'deny'] as const)('decisions of the mode %s say it too, with nothing used', async (mode) => {
    const decision = await limiterOf(mode).consume('key', 3);

    expect(decision).toMatchObject({ outcome: 'unavailable', used: 0, error: failure });
  });

  it('units of keys are given back and charged in the local fallback', async () => {
    const limiter = limiterOf('local');
    await limiter.consume('key', 4);

    await limiter.refund('key', 3);
    expect((await limiter.peek('key', 0)).used).toBe(1);
    await limiter.charge('key', 8);
    expect(await limiter.consume('key')).toMatchObject({ allowed: false, used: 9 });
  });

  it.each(['allow', 'deny', 'throw'] as const)(
    'they are rejected in the mode %s, which counts nowhere',
    async (mode) => {
      const limiter = limiterOf(mode);

      await expect(limiter.refund('key')).rejects.toMatchObject({ code: expect.stringMatching(/^SLUICE_STORE_/) });
      await expect(limiter.charge('key', 1)).rejects.toMatchObject({ code: expect.stringMatching(/^SLUICE_STORE_/) });
    },
  );
});

describe('a decision of a store that has decided', () => {
  it('has no error', async () => {
    const decision: Decision = await createLimiter({ policy, store: memoryStore() }).consume('key');

    expect('error' in decision).toBe(false);
  });
});
