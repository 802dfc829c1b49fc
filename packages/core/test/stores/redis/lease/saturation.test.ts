import { describe, expect, it } from '@jest/globals';
import { saturate } from './simulation/saturation.ts';

const SHARED = [
  ['one process', [1]],
  ['two processes alike', [0.5, 0.5]],
  ['two, one of which asks ten times as often', [10 / 11, 1 / 11]],
  ['four processes alike', [0.25, 0.25, 0.25, 0.25]],
  ['four, of which one asks for nearly all', [0.91, 0.03, 0.03, 0.03]],
] as const;

const plan = { units: 600, windowMs: 1000, maxAgeMs: 500, drift: 1e-4 };

describe.each(SHARED)('%s that lease, when half as much again is asked for as there is', (_who, parts) => {
  it.each(['clock', 'sliding', 'bucket'] as const)('use nine tenths at least of what %s allows', async (kind) => {
    const single = await saturate({ ...plan, kind, isSingle: true }, parts, 1.5);

    const leasing = await saturate({ ...plan, kind }, parts, 1.5);

    expect(leasing.used).toBeGreaterThan(0.9 * single.used);
    expect(single.leased).toBe(0);
    expect(leasing.leased).toBeGreaterThan(kind === 'bucket' ? 0 : 0.5);
  });
});

describe('a process that asks for a thirtieth', () => {
  it('is not left without', async () => {
    const { shares } = await saturate({ ...plan, kind: 'clock' }, [0.91, 0.03, 0.03, 0.03], 1.5);

    expect(Math.min(...shares)).toBeGreaterThan(0.015);
  });
});
