import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import {
  byHeader,
  byIp,
  byRoute,
  fixedWindow,
  rateLimit,
  redisStore,
  type DecisionMessage,
  type RateLimitOptions,
} from '@sluice/express';
import { connectTo, useRedis } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const redis = useRedis();
const policy = fixedWindow({ limit: 1, window: '1h' });

const decisions: DecisionMessage[] = [];
const storeErrors: unknown[] = [];
const onDecision = (message: unknown): void => void decisions.push(message as DecisionMessage);
const onStoreError = (message: unknown): void => void storeErrors.push(message);
beforeEach(async () => {
  await redis.admin.flushall();
  decisions.length = storeErrors.length = 0;
  subscribe('sluice:decision', onDecision);
  subscribe('sluice:store.error', onStoreError);
});
afterEach(() => {
  unsubscribe('sluice:decision', onDecision);
  unsubscribe('sluice:store.error', onStoreError);
});
const told = (): unknown[] =>
  decisions.map(({ limiter, op, decision: { outcome, source } }) => [limiter, op, outcome, source]);

describe.each(frameworks)('what is published of requests on $version', ({ express }) => {
  const statusesOf = async (...limits: RateLimitOptions[]): Promise<number[]> => {
    const app = express();
    app.get('/orders/:id', ...limits.map((options) => rateLimit(options)), (_request, response) => {
      response.send('ok');
    });
    return [(await request(app).get('/orders/1')).status, (await request(app).get('/orders/2')).status];
  };

  it('is each decision, allowed or denied, by the name of its limiter', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice' });

    expect(await statusesOf({ name: 'orders', policy, store, timeoutMs: 60_000 })).toEqual([200, 429]);

    expect(told()).toEqual([
      ['orders', 'consume', 'allowed', 'redis'],
      ['orders', 'consume', 'denied', 'redis'],
    ]);
  });

  it('is one decision for each limit, those included that only report', async () => {
    await statusesOf({ name: 'tight', policy, mode: 'report' }, { name: 'wide', limit: 10, window: '1h' });

    expect(told()).toEqual([
      ['tight', 'consume', 'allowed', 'memory'],
      ['wide', 'consume', 'allowed', 'memory'],
      ['tight', 'consume', 'denied', 'memory'],
      ['wide', 'consume', 'allowed', 'memory'],
    ]);
  });

  it('is nothing where nothing was decided', async () => {
    expect(await statusesOf({ policy, skip: () => true })).toEqual([200, 200]);

    expect(told()).toEqual([]);
  });

  it('is never a key, a path, an address or a header', async () => {
    const app = express();
    const nowhere = connectTo('redis://127.0.0.1:1');
    const limits = rateLimit({
      store: redisStore(nowhere, { prefix: 'sluice' }),
      limits: [
        { name: 'per-ip', policy, key: byIp() },
        { name: 'per-route', policy, key: [byRoute(), byHeader('x-id')] },
      ],
    });
    app.get('/users/:id', limits, (_request, response) => {
      response.send('ok');
    });

    for (let i = 0; i < 2; i++) await request(app).get('/users/secret?token=secret').set('x-id', 'secret');
    nowhere.disconnect();

    expect(told()).toHaveLength(2);
    expect(storeErrors).toHaveLength(2);
    const all = inspect([decisions, storeErrors], { depth: Infinity, showHidden: true });
    expect(all).not.toMatch(/secret|users|127\.0\.0\.1|x-id/);
  });

  it('is why the store did not decide, and what stood in for it', async () => {
    const nowhere = connectTo('redis://127.0.0.1:1');
    const store = redisStore(nowhere, { prefix: 'sluice' });

    expect(await statusesOf({ name: 'orders', policy, store, onStoreError: 'deny', timeoutMs: 60_000 })).toEqual([
      503, 503,
    ]);
    nowhere.disconnect();

    expect(told()).toEqual(Array(2).fill(['orders', 'consume', 'unavailable', 'none']));
    expect(storeErrors).toEqual(
      Array(2).fill({ limiter: 'orders', store: 'redis', kind: 'connection', code: 'SLUICE_STORE_FAILED' }),
    );
  });
});
