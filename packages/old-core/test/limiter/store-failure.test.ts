import { describe, expect, it, jest } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  type Limiter,
  type OnStoreError,
  type RedisClient,
  type Store,
} from '@sluice/old-core';

const policy = fixedWindow({ limit: 2, window: '1h' });

const never = (): Promise<never> => new Promise(() => undefined);
const rejects = (): Promise<never> => Promise.reject(new Error('connection denied'));
const throws = (): never => {
  throw new Error('not a client');
};

const clientThat = (call: () => Promise<unknown>): RedisClient => ({ evalsha: call, eval: call });
const garbage = clientThat(() => Promise.resolve('OK'));

/** Every way to fail, as a store. The codes are those of `onStoreError: 'throw'`. */
const FAILURES: readonly (readonly [how: string, store: () => Store, code: string])[] = [
  ['a client that never answers', () => redisStore(clientThat(never), { prefix: 'sluice' }), 'SLUICE_STORE_TIMEOUT'],
  ['a client that rejects', () => redisStore(clientThat(rejects), { prefix: 'sluice' }), 'SLUICE_STORE_FAILED'],
  ['a client that throws', () => redisStore(clientThat(throws), { prefix: 'sluice' }), 'SLUICE_STORE_FAILED'],
  [
    'a client that answers something else',
    () => redisStore(garbage, { prefix: 'sluice' }),
    'SLUICE_STORE_REPLY_INVALID',
  ],
  ['a store that throws', () => ({ source: 'redis', perform: throws }), 'SLUICE_STORE_FAILED'],
  ['a store that answers with nothing', () => ({ source: 'redis', perform: () => [] }), 'SLUICE_STORE_REPLY_INVALID'],
  [
    'a store that answers with an error',
    () => ({ source: 'redis', perform: () => [new Error('no')] }),
    'SLUICE_STORE_FAILED',
  ],
];

const limiterOn = (store: Store, onStoreError?: OnStoreError): Limiter =>
  createLimiter({ policy, store, timeoutMs: 5, ...(onStoreError === undefined ? {} : { onStoreError }) });

describe.each(FAILURES)('%s', (_how, store, code) => {
  it('local, the default: this process decides, with the same policy', async () => {
    const limiter = limiterOn(store());

    const decisions = [await limiter.consume('key'), await limiter.consume('key'), await limiter.consume('key')];

    expect(decisions.map(({ allowed, remaining, source }) => ({ allowed, remaining, source }))).toEqual([
      { allowed: true, remaining: 1, source: 'local' },
      { allowed: true, remaining: 0, source: 'local' },
      { allowed: false, remaining: 0, source: 'local' },
    ]);
    expect((await limiter.peek('other')).allowed).toBe(true);
  });

  it('local: units of a local decision are given back locally', async () => {
    const limiter = limiterOn(store(), 'local');
    const decision = await limiter.consume('key', 2);

    await limiter.refund(decision);

    expect((await limiter.peek('key')).remaining).toBe(2);
  });

  it.each([
    ['allow', true],
    ['deny', false],
  ] as const)('%s: the decision is unavailable, and claims nothing', async (mode, allowed) => {
    const limiter = limiterOn(store(), mode);

    const decision = await limiter.consume('key');

    expect(decision).toMatchObject({
      allowed,
      outcome: 'unavailable',
      source: 'none',
      cost: 1,
      limit: 0,
      remaining: 0,
      resetAfterMs: 0,
      delayMs: 0,
      policies: [],
    });
    expect(decision.retryAfterMs).toBe(allowed ? 0 : null);
    await expect(limiter.refund(decision)).resolves.toBeUndefined();
  });

  it('throw: rejects with the reason and its cause', async () => {
    const attempt = limiterOn(store(), 'throw').consume('key');

    await expect(attempt).rejects.toMatchObject({ name: 'StoreError', code });
  });
});

// A store that answers an edit with nothing has made it, for all that can be known.
const failing = FAILURES.filter(([how]) => how !== 'a store that answers with nothing');

describe.each(failing)('%s', (_how, store) => {
  it.each(['local', 'allow', 'deny', 'throw'] as const)('%s: an edit that was not made rejects', async (mode) => {
    const limiter = limiterOn(store(), mode);

    const edits = [limiter.reset('key'), limiter.block('key', '1m'), limiter.unblock('key')];
    await Promise.all(edits.map((edit) => expect(edit).rejects.toMatchObject({ name: 'StoreError' })));
  });
});

describe('a block while the store is away', () => {
  it('holds in this process all the same', async () => {
    const limiter = limiterOn(redisStore(clientThat(rejects), { prefix: 'sluice' }), 'local');

    await expect(limiter.block('key', '1m')).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });

    expect(await limiter.consume('key')).toMatchObject({ allowed: false, outcome: 'blocked', source: 'local' });
  });
});

describe('an answer that comes late', () => {
  it('is ignored: it may have counted, so nothing is sent again', async () => {
    let calls = 0;
    let answerNow: ((reply: unknown) => void) | undefined;
    const late = clientThat(() => {
      calls++;
      return new Promise((resolve) => (answerNow = resolve));
    });
    const limiter = limiterOn(redisStore(late, { prefix: 'sluice' }), 'deny');

    const decision = await limiter.consume('key');
    answerNow?.(`${String(Date.now())}\n`);
    await new Promise((resolve) => setImmediate(resolve));

    expect(decision).toMatchObject({ allowed: false, outcome: 'unavailable' });
    expect(calls).toBe(1);
  });

  it('that is an error ends in no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    let failNow: ((error: Error) => void) | undefined;
    const limiter = limiterOn(
      redisStore(
        clientThat(() => new Promise((_resolve, reject) => (failNow = reject))),
        { prefix: 'sluice' },
      ),
      'allow',
    );

    await limiter.consume('key');
    failNow?.(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);

    expect(unhandled).toEqual([]);
  });

  it('does not keep a limiter from closing', async () => {
    const limiter = limiterOn(redisStore(clientThat(never), { prefix: 'sluice' }), 'deny');
    await limiter.consume('key');

    await expect(limiter.close()).resolves.toBeUndefined();
  });
});

describe('a server that is not there', () => {
  it('rejects with its address, by a URL', async () => {
    const limiter = createLimiter({
      policy,
      store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 10_000,
    });

    await expect(limiter.consume('key')).rejects.toMatchObject({ name: 'StoreError', code: 'SLUICE_STORE_FAILED' });
    await limiter.close();
  });
});

/** Asks for decisions without waiting for them, one a turn of the event loop, so that each is a call. */
async function oneByOne(limiter: Limiter, count: number): Promise<ReadonlySet<string>> {
  const outcomes: Promise<string>[] = [];
  for (let i = 0; i < count; i++) {
    outcomes.push(
      limiter.consume('key').then(
        () => 'fulfilled',
        () => 'rejected',
      ),
    );
    await new Promise(setImmediate);
  }
  return new Set(await Promise.all(outcomes));
}

describe('a server that hangs', () => {
  it('is sent no more once no caller waits for four thousand calls, and again when it answers', async () => {
    let sent = 0;
    let answer = (_reply: unknown): void => {};
    const pending = new Promise((resolve) => (answer = resolve));
    const store = redisStore(
      clientThat(() => {
        sent++;
        return pending;
      }),
      { prefix: 'sluice', check: false, breaker: false },
    );
    const limiter = createLimiter({ policy, store, timeoutMs: 1, onStoreError: 'throw' });
    const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now()); // less than a second, however slow
    await oneByOne(limiter, 10_000);

    const most = sent;
    await expect(limiter.consume('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
    expect(most).toBeGreaterThan(3_990);
    expect(most).toBeLessThan(5_000);
    expect(sent).toBe(most);
    now.mockRestore();
    answer('1795262400250\n');
    await new Promise(setImmediate);
    expect((await limiter.consume('key')).source).toBe('redis');
    expect(sent).toBe(most + 1);
  });

  it('is sent one call a second by then, and all again when that is answered, though others never are', async () => {
    let sent = 0;
    let reply: Promise<unknown> = never();
    const store = redisStore(
      clientThat(() => {
        sent++;
        return reply;
      }),
      { prefix: 'sluice', check: false, breaker: false },
    );
    const limiter = createLimiter({ policy, store, timeoutMs: 1 });
    let atMs = Math.floor(performance.now()); // a fraction may be rounded when 1000 is added
    const now = jest.spyOn(performance, 'now').mockImplementation(() => atMs);
    await oneByOne(limiter, 10_000);
    const most = sent;
    reply = Promise.resolve('1795262400250\n');

    expect((await limiter.consume('key')).source).toBe('local');
    atMs += 1000;
    const decisions = [await limiter.consume('key'), await limiter.consume('key'), await limiter.consume('key')];
    now.mockRestore();

    expect(decisions.map(({ source }) => source)).toEqual(['redis', 'redis', 'redis']);
    expect(most).toBeLessThan(5_000);
    expect(sent).toBe(most + 3);
  });

  it('is sent every call of a burst that a caller waits for', async () => {
    let sent = 0;
    const store = redisStore(
      clientThat(() => {
        sent++;
        return Promise.resolve('1795262400250\n');
      }),
      { prefix: 'sluice', check: false },
    );
    const limiter = createLimiter({ policy, store, timeoutMs: 60_000, onStoreError: 'throw' });

    expect(await oneByOne(limiter, 20_000)).toEqual(new Set(['fulfilled']));

    expect(sent).toBe(20_000);
  });

  it('is not sent in full what it did not know, once no caller waits for it', async () => {
    const asked: string[] = [];
    let deny = (_error: Error): void => {};
    const store = redisStore(
      {
        evalsha: () => {
          asked.push('evalsha');
          return new Promise((_resolve, reject) => (deny = reject));
        },
        eval: () => {
          asked.push('eval');
          return never();
        },
      },
      { prefix: 'sluice' },
    );
    const limiter = createLimiter({ policy, store, timeoutMs: 1 });

    expect((await limiter.consume('key')).source).toBe('local');
    deny(new Error('NOSCRIPT No matching script. Please use EVAL.'));
    await new Promise(setImmediate);

    expect(asked).toEqual(['evalsha']);
  });
});

describe('edits over limits', () => {
  it.each(['reset', 'block', 'unblock', 'refund'] as const)('%s is one call to the store', async (edit) => {
    const inner = memoryStore();
    const calls: number[] = [];
    const store: Store = {
      source: 'redis',
      perform(requests) {
        calls.push(requests.length);
        return inner.perform(requests);
      },
    };
    const limiter = createLimiter({
      store,
      limits: [
        { name: 'one', policy },
        { name: 'other', policy },
      ],
    });
    const keys = { one: 'a', other: 'b' };
    const decision = await limiter.consume(keys);
    calls.length = 0;

    if (edit === 'refund') await limiter.refund(decision);
    else if (edit === 'block') await limiter.block(keys, '1h');
    else await limiter[edit](keys);

    expect(calls).toEqual([2]);
  });
});
