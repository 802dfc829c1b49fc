import { beforeEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { startChild, type ChildReport, type PolicyText } from '../../children/start.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

async function together(
  policies: readonly PolicyText[],
  clocks: readonly (string | undefined)[],
  calls: number,
): Promise<ChildReport[]> {
  const children = await Promise.all(
    clocks.map((clock) => startChild(redis.server.storeUrl, policies, calls, { clock })),
  );
  return Promise.all(children.map((child) => child.run()));
}

const allowedOf = (reports: readonly ChildReport[]): number => reports.reduce((sum, { allowed }) => sum + allowed, 0);

/** None of them gives anything back while the test runs. */
const fixed: PolicyText = { make: 'fixedWindow', options: { limit: 1_777, window: '1d' } };
const sliding: PolicyText = { make: 'slidingWindow', options: { limit: 1_777, window: '10d' } };
const bucket: PolicyText = { make: 'tokenBucket', options: { capacity: 1_777, refill: 1, every: '30d' } };
const interval: PolicyText = {
  make: 'tokenBucket',
  options: { capacity: 1_777, refill: 5, every: '1d', mode: 'interval' },
};

const named = ({ make, options }: PolicyText, name: string, units: number): PolicyText => ({
  make,
  options: { ...options, name, ...('limit' in options ? { limit: units } : { capacity: units }) },
});

describe('four processes with two thousand requests each for one key', () => {
  const four = [undefined, undefined, undefined, undefined];

  it.each([
    ['fixedWindow', fixed],
    ['slidingWindow', sliding],
    ['tokenBucket', bucket],
    ['tokenBucket in intervals', interval],
  ] as const)('are allowed exactly as often as %s allows', async (_name, policy) => {
    const reports = await together([policy], four, 2_000);

    expect(allowedOf(reports)).toBe(1_777);
  });

  it('are allowed exactly as often as the tightest of three policies allows', async () => {
    const policies = [named(fixed, 'day', 3_001), named(sliding, 'steady', 2_222), named(bucket, 'burst', 2_600)];

    const reports = await together(policies, four, 2_000);

    expect(allowedOf(reports)).toBe(2_222);
  });
});

describe('processes whose clocks differ by hours', () => {
  const clocks = [undefined, '+1h', '-1h'];

  it.each([
    ['fixedWindow', fixed],
    ['slidingWindow', sliding],
    ['tokenBucket', bucket],
    ['tokenBucket in intervals', interval],
  ] as const)('allow together what one would, with %s', async (_name, policy) => {
    const reports = await together([policy], clocks, 1_000);

    expect(allowedOf(reports)).toBe(1_777);
  });

  it('are told the same time, the server’s', async () => {
    const [right, ahead, behind] = (await together([fixed], clocks, 1)) as [ChildReport, ChildReport, ChildReport];

    expect(ahead.clockMs - right.clockMs).toBeGreaterThan(3_000_000);
    expect(right.clockMs - behind.clockMs).toBeGreaterThan(3_000_000);
    expect(Math.abs(ahead.atMs - right.atMs)).toBeLessThan(600_000);
    expect(Math.abs(behind.atMs - right.atMs)).toBeLessThan(600_000);
  });
});
