import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { startChild, type PolicyText } from '../../../../children/start.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

/** None of them gives anything back while the test runs. */
const limited: readonly (readonly [string, readonly PolicyText[]])[] = [
  ['a window', [{ make: 'fixedWindow', options: { limit: 5_003, window: '1d' } }]],
  ['a bucket', [{ make: 'tokenBucket', options: { capacity: 5_003, refill: 1, every: '30d' } }]],
  [
    'the tightest of three policies',
    [
      { make: 'slidingWindow', options: { name: 'steady', limit: 6_000, window: '10d' } },
      { make: 'tokenBucket', options: { name: 'burst', capacity: 5_003, refill: 1, every: '30d' } },
      { make: 'fixedWindow', options: { name: 'day', limit: 5_500, window: '1d' } },
    ],
  ],
];

describe('four processes with 64 requests each on their way for one key, again and again', () => {
  it.each(limited)('are allowed exactly as often as %s allows', async (_what, policies) => {
    const starts = Array.from({ length: 4 }, () => startChild(redis.server.storeUrl, policies, 2_000, { atOnce: 64 }));
    const children = await Promise.all(starts);

    const reports = await Promise.all(children.map((child) => child.run()));

    expect(reports.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(5_003);
  });
});
