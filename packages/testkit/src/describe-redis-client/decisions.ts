import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { fixedWindow, slidingWindow, tokenBucket, type Limiter, type Policy } from '@sluice/old-core';
import type { Servers } from './servers.ts';
import { limiterOn } from './setup.ts';
import type { RedisClientTarget, TestClient } from './target.ts';

/** The data that a client must carry. All limiters compare the script's answers with the kernels'. */
export function describeDecisions(servers: () => Servers, connect: RedisClientTarget['connect']): void {
  let open: TestClient | undefined;
  beforeAll(async () => {
    open = await connect(servers().endpoint);
  });
  afterAll(async () => {
    await open?.close();
  });
  const setup = (...policies: readonly Policy[]): Limiter => limiterOn((open as TestClient).client, policies);

  it('consumes from all policies or from none, and refunds', async () => {
    const limiter = setup(
      slidingWindow({ name: 'steady', limit: 3, window: '1h' }),
      tokenBucket({ name: 'burst', capacity: 5, refill: 1, every: '1d' }),
    );

    const first = await limiter.consume('key', 2);
    const second = await limiter.consume('key', 2);
    await limiter.refund(first);
    const third = await limiter.consume('key', 3);

    expect(first).toMatchObject({ allowed: true, remaining: 1, source: 'redis' });
    expect(second).toMatchObject({ allowed: false, outcome: 'denied', policy: 'steady' });
    expect(third).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('does not change a value when it denies', async () => {
    const limiter = setup(fixedWindow({ limit: 5, window: '1h' }));
    await limiter.consume('key', 3);

    const denied = await limiter.consume('key', 3);

    expect(denied).toMatchObject({ allowed: false, remaining: 2 });
    expect((await limiter.consume('key', 2)).remaining).toBe(0);
  });

  it('reads a missing key', async () => {
    const limiter = setup(fixedWindow({ limit: 5, window: '1h' }));

    expect(await limiter.peek('never-used')).toMatchObject({ allowed: true, remaining: 5, resetAfterMs: 0 });
  });

  it('keeps every digit of states that are numbers beyond 2^53', async () => {
    // 19 digits: the instant in milliseconds, and six for what is left of a millisecond.
    const limiter = setup(tokenBucket({ capacity: 700_000, refill: 699_999, every: '1h' }));

    const remaining = [];
    for (const cost of [1, 349_999, 350_000]) remaining.push((await limiter.consume('key', cost)).allowed);

    expect(remaining).toEqual([true, true, true]);
    expect((await limiter.consume('key', 5_000)).allowed).toBe(false);
  });

  it('carries keys of any characters, each with its own budget', async () => {
    const limiter = setup(fixedWindow({ limit: 5, window: '1h' }));
    const keys = [
      'Zoë',
      'ЗОЯ',
      '日本',
      '🚀',
      '{a}',
      '}{',
      'a b',
      'a:b',
      'line\nbreak',
      'zero\0byte',
      ''.padEnd(3_000, 'é'),
    ];

    const remaining = [];
    for (const [i, key] of keys.entries()) remaining.push((await limiter.consume(key, 1 + (i % 5))).remaining);

    expect(remaining).toEqual(keys.map((_key, i) => 4 - (i % 5)));
  });

  it('allows exactly the limit of 500 decisions at once', async () => {
    const limiter = setup(
      slidingWindow({ name: 'wide', limit: 200, window: '1h' }),
      fixedWindow({ name: 'narrow', limit: 150, window: '1h' }),
    );

    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('key')));

    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(150);
  });

  it('decides on many keys at once', async () => {
    const limiter = setup(fixedWindow({ limit: 2, window: '1h' }));
    const keys = Array.from({ length: 100 }, (_, i) => `client-${String(i)}`);

    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)));

    expect(decisions.map(({ remaining }) => remaining)).toEqual(keys.map(() => 1));
  });

  it('blocks, unblocks and resets', async () => {
    const limiter = setup(fixedWindow({ limit: 2, window: '1h' }));
    await limiter.consume('key', 2);

    await limiter.block('key', '1h');
    expect((await limiter.consume('key')).outcome).toBe('blocked');
    await limiter.unblock('key');
    expect((await limiter.consume('key')).outcome).toBe('denied');
    await limiter.reset('key');
    expect((await limiter.consume('key')).outcome).toBe('allowed');
  });

  it('sends the script again to servers that have forgotten it', async () => {
    const limiter = setup(fixedWindow({ limit: 5, window: '1h' }));
    await limiter.consume('key');

    await servers().flushScripts();

    expect((await limiter.consume('key')).remaining).toBe(3);
  });
}
