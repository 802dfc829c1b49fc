import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  fixedWindow,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  type Policy,
} from '@sluice/old-core';
import { lines, testEnforcer } from '@sluice/testkit';

describe('the response under a limit of 0', () => {
  it.each<[string, Policy]>([
    ['fixedWindow', fixedWindow({ limit: 0, window: '1m' })],
    ['slidingWindow', slidingWindow({ limit: 0, window: '1m' })],
    ['slidingCounter', slidingCounter({ limit: 0, window: '1m' })],
    ['slidingLog', slidingLog({ limit: 0, window: '1m' })],
  ])('denies without any time to come again, by %s', async (_name, policy) => {
    const answer = await testEnforcer({ policy, name: 'none' })();

    expect(answer.denial?.status).toBe(429);
    expect(lines(answer)).toEqual([
      'RateLimit-Policy: "none";q=0;w=60',
      'RateLimit: "none";r=0',
      'Cache-Control: no-store',
    ]);
  });

  it('denies a slot, also where a Retry-After is set for missing slots', async () => {
    const policy = concurrency({ limit: 0, ttl: '1m' });

    const answer = await testEnforcer({ policy, name: 'none', retryAfter: '1s' })();

    expect(answer.denial?.status).toBe(429);
    expect(lines(answer)).toEqual([
      'RateLimit-Policy: "none";q=0;qu="concurrent-requests"',
      'RateLimit: "none";r=0',
      'Cache-Control: no-store',
    ]);
  });
});

describe('the response when the store did not decide', () => {
  it('holds nothing of the error that the decision states', async () => {
    const seen: unknown[] = [];
    // No server listens on port 1.
    const store = redisStore('redis://127.0.0.1:1', { prefix: 'sluice' });
    const policy = fixedWindow({ limit: 5, window: '1m' });
    const onDecision = (decision: { readonly error?: Error }): void => void seen.push(decision.error);

    const { denial, ...rest } = await testEnforcer({ policy, store, onStoreError: 'deny', onDecision })();
    await store.close();

    expect(seen).toEqual([expect.objectContaining({ name: 'StoreError' })]);
    expect(denial?.status).toBe(503);
    expect(JSON.stringify([denial, lines({ denial, ...rest })])).not.toMatch(/127\.0\.0\.1|SLUICE_STORE|Redis/);
  });
});
