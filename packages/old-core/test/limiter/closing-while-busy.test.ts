import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Store, type StoreRequest } from '@sluice/old-core';
import { expectWarnings, onNodes, startRedis } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 10, window: '1h' });

describe('closing a limiter', () => {
  it.each(['reset', 'block', 'unblock', 'refund'] as const)('waits for a %s that has just begun', async (edit) => {
    const order: string[] = [];
    const memory = memoryStore();
    const store: Store = {
      source: 'redis',
      async perform(requests: readonly StoreRequest[]) {
        for (let i = 0; i < 5; i++) await new Promise(setImmediate);
        order.push(requests[0]?.op ?? '');
        return memory.perform(requests);
      },
      close: () => void order.push('store closed'),
    };
    const limiter = createLimiter({ policy, store });
    const decision = await limiter.consume('ann');

    order.length = 0;

    const edited =
      edit === 'refund'
        ? limiter.refund(decision)
        : edit === 'block'
          ? limiter.block('ann', '1h')
          : limiter[edit]('ann');
    await Promise.all([limiter.close(), edited]);

    expect(order).toEqual([edit, 'store closed']);
  });

  it('waits for edits on other nodes when one has failed', async () => {
    let done = 0;
    const memory = memoryStore();
    const store: Store = onNodes({
      source: 'redis',
      async perform(requests: readonly StoreRequest[]) {
        const [request] = requests;
        if (request?.op === 'reset' && request.part.subject === 'gone') throw new Error('gone');
        for (let i = 0; i < 5; i++) await new Promise(setImmediate);
        done++;
        return memory.perform(requests);
      },
    });
    const limits = [
      { name: 'one', policy },
      { name: 'other', policy },
    ] as const;
    const limiter = createLimiter({ limits, store });

    const reset = limiter.reset({ one: 'gone', other: 'there' });
    const closed = limiter.close().then(() => done);

    await expect(reset).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
    expect(await closed).toBe(1);
  });
});

describe('a refund while the breaker is open', () => {
  it('was not sent, so it may be tried again when the breaker is closed', async () => {
    const memory = memoryStore();
    let isAway = false;
    const store: Store = {
      source: 'redis',
      breaker: { failures: 1, probeEveryMs: 50 },
      perform(requests: readonly StoreRequest[]) {
        if (isAway) throw new Error('away');
        return memory.perform(requests);
      },
    };
    const limiter = createLimiter({ policy, store });
    const decision = await limiter.consume('ann', 4);
    isAway = true;
    await limiter.consume('ann');

    await expect(limiter.refund(decision)).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });
    isAway = false;
    while (limiter.status().breaker !== 'closed') await new Promise(setImmediate);
    await limiter.refund(decision);
    await limiter.refund(decision);

    expect((await limiter.peek('ann')).remaining).toBe(10);
  });
});

describe('ready', () => {
  it.each([['5s'], [Number.NaN], [0], [Infinity], [1.5]])('denies %p milliseconds', async (timeoutMs) => {
    const store = redisStore('redis://127.0.0.1:1', { prefix: 'sluice' });

    await expect(store.ready(timeoutMs as number)).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID' });
  });

  it('gives up when the store is closed', async () => {
    const server = await startRedis();
    await server.stop();
    const store = redisStore(server.url, { prefix: 'sluice' });
    const ready = store.ready(60_000).catch((error: unknown) => error);
    await new Promise(setImmediate);

    await store.close();

    expect(await ready).toMatchObject({ kind: 'connection' });
  });
});

describe('a store that is closed by hand while its breaker is open', () => {
  it('is probed no more, and asked again when it is used again', async () => {
    const server = await startRedis();
    const store = redisStore(server.url, { prefix: 'sluice', breaker: { failures: 1, probeEveryMs: 10 } });
    const limiter = createLimiter({ policy, store, timeoutMs: 500 });
    await store.ready();
    server.pause();
    await limiter.consume('ann');
    expect(limiter.status().breaker).not.toBe('closed');

    await store.close();
    expect(limiter.status().breaker).toBe('closed');
    server.resume();

    expect((await limiter.consume('ann')).source).toBe('redis');
    await limiter.close();
    await server.stop();
  });
});
