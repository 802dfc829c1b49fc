import { describe, expect, it } from '@jest/globals';
import { DenialCache, Invalidations, keySuffixOf, namePolicies, type LocalClocks } from '@sluice/old-core/spi';
import { slidingLog, type Limit, type Part } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import { START_MS } from '../../../../traces/step.ts';
import { redisServer } from './servers.ts';

const redis = useRedis();

/**
 * A log of four units that were taken 100 ms apart, of which a reply shows no more than concerns the cost that is asked
 * for.
 */
async function deniedAt(cost: number, askedCost: number, laterMs: number): Promise<boolean> {
  const policies = namePolicies(slidingLog({ limit: 4, window: 1000 }), 'log');
  const limit: Limit = { policies, keySuffix: keySuffixOf('log', policies) };
  const part = (units: number): Part => ({ limit, subject: `s-${[cost, askedCost, laterMs].join('-')}`, cost: units });
  let nowMs = START_MS;
  const clocks: LocalClocks = { monotonicMs: () => nowMs, dateMs: () => nowMs };
  const cache = new DenialCache(10, new Invalidations(clocks), clocks);
  const server = redisServer(redis.client);
  for (let i = 0; i < 4; i++) await server.ask({ op: 'consume', parts: [part(1)] }, START_MS + 100 * i);
  nowMs = START_MS + 900;
  const sent = { sentMs: nowMs - 1, sentDateMs: nowMs - 1, receivedMs: nowMs };
  cache.rememberAll([part(cost)], await server.ask({ op: 'consume', parts: [part(cost)] }, nowMs), sent);

  nowMs = START_MS + laterMs;
  return cache.denyAll([part(askedCost)]) !== undefined;
}

describe('a log of which a reply has shown a part', () => {
  it('denies the cost that was asked for until it is allowed', async () => {
    expect(await deniedAt(3, 3, 1190)).toBe(true);
    expect(await deniedAt(3, 3, 1200)).toBe(false);
  });

  it('denies larger costs while that one is denied, and asks about them from then on', async () => {
    expect(await deniedAt(1, 2, 990)).toBe(true);
    expect(await deniedAt(1, 2, 1100)).toBe(false); // the server allows two by then: the reply has not shown when the second comes back
  });

  it('denies smaller costs while a single unit is denied', async () => {
    expect(await deniedAt(3, 2, 990)).toBe(true);
    expect(await deniedAt(3, 2, 1100)).toBe(false);
  });
});
