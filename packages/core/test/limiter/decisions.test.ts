import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  slidingWindow,
  type DecisionMessage,
} from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { FakeStore } from '../guard/fake-store.ts';

const policy = fixedWindow({ limit: 5, window: '1m' });

describe('a decision', () => {
  it('says what was decided, by own plain fields', async () => {
    const clock = fakeClock(1_795_262_400_000);
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1m', store: memoryStore({ clock }) });

    const decision = await limiter.consume('ann', 2);

    const numbers = { limit: 5, remaining: 3, used: 2, retryAfterMs: 0, resetAfterMs: 60_000, delayMs: 0 };
    expect({ ...decision }).toEqual({
      ...{ allowed: true, outcome: 'allowed', policy: 'api', cost: 2, ...numbers, source: 'memory', atMs: clock.now() },
      policies: [{ name: 'api', allowed: true, ...numbers, windowMs: 60_000, nextAfterMs: 60_000 }],
    });
  });

  it('is for the keys and the cost of its own call, also if the call before was like it', async () => {
    const limiter = createLimiter({ limits: [{ name: 'ip', policy }] });
    const keys = { ip: 'ann' };
    await limiter.consume(keys, 2);
    await limiter.consume(keys, 2);
    const costs = createLimiter({ policy });
    for (const cost of [1, 2, 1]) await costs.consume('ann', cost);

    keys.ip = 'bob';

    expect(await limiter.consume(keys, 2)).toMatchObject({ used: 2 });
    expect(await costs.peek('ann')).toMatchObject({ used: 4 });
  });

  it('is named after the policy with the least left if it allows, and with the longest wait if it denies', async () => {
    const limiter = createLimiter({
      policy: [
        slidingWindow({ name: 'long', limit: 10, window: '1h' }),
        fixedWindow({ name: 'short', limit: 4, window: '1s' }),
      ],
    });
    const peeked = await limiter.peek('ann', 4);

    const allowed = await limiter.consume('ann', 4);
    const denied = await limiter.consume('ann', 7);

    expect([peeked.policy, allowed.policy, denied.policy]).toEqual(['short', 'short', 'short']);
    expect(allowed).toMatchObject({ remaining: 0, limit: 4, used: 4 });
    expect(denied).toMatchObject({ retryAfterMs: null, remaining: 0 });
    expect(denied.policies.map(({ used }) => used)).toEqual([4, 4]);
  });

  it('has the longest delay, and none if it denies', async () => {
    const limiter = createLimiter({
      policy: [
        leakyBucket({ name: 'line', limit: 10, window: '1s', maxDelay: '1s' }),
        fixedWindow({ name: 'all', limit: 2, window: '1h' }),
      ],
    });
    await limiter.consume('ann');

    expect((await limiter.consume('ann')).delayMs).toBeGreaterThan(0);
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, delayMs: 0 });
  });

  it('is published without its error, with the operation and how long it took', async () => {
    const store = new FakeStore('fails');
    const limiter = createLimiter({ name: 'published', policy, store });
    const heard: DecisionMessage[] = [];
    const listener = (message: unknown): void => void heard.push(message as DecisionMessage);
    subscribe('sluice:decision', listener);

    await limiter.consume('ann');
    await limiter.peek('ann');
    unsubscribe('sluice:decision', listener);

    expect(heard.map(({ limiter: name, op, decision }) => [name, op, decision.source, decision.error])).toEqual([
      ['published', 'consume', 'local', undefined],
      ['published', 'peek', 'local', undefined],
    ]);
    expect(heard[0]?.durationMs).toBeGreaterThanOrEqual(0);
  });
});

it('a block denies every request of the key under each policy, and its end uncovers what was used', async () => {
  const limiter = createLimiter({
    policy: [
      { ...policy, name: 'one' },
      { ...policy, name: 'two' },
    ],
  });
  await limiter.consume('ann', 2);

  await limiter.block('ann', '1h', { by: 'ops', reason: 'scraping' });
  const blocked = await limiter.consume('ann');
  await limiter.reset('bob');
  await limiter.unblock('ann', { by: 'ops' });

  expect(blocked).toMatchObject({ allowed: false, outcome: 'blocked', remaining: 0, used: 2 });
  expect(blocked.policies.map(({ allowed }) => allowed)).toEqual([false, false]);
  expect(blocked.retryAfterMs).toBeGreaterThan(3_590_000);
  expect(await limiter.peek('ann')).toMatchObject({ outcome: 'allowed', used: 2 });
});
