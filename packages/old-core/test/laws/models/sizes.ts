import fc from 'fast-check';
import { silenceWarnings } from '@sluice/old-core';
import { LARGEST_LIMIT } from './largest.ts';

// Lengths are numbers of milliseconds here, of which there may be few.
silenceWarnings('SLUICE_UNIT_MISSING');

/** Units: mostly few, so that limits are reached; some that need the other layout (from a million on); the largest. */
export const limits: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 13, max: 1_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(999_999, 1_000_000, 1_000_001, 100_000_000) },
  { weight: 1, arbitrary: fc.constant(LARGEST_LIMIT) },
);

/** The same, and a limit that denies everything. */
export const limitsOrNone: fc.Arbitrary<number> = fc.oneof(
  { weight: 15, arbitrary: limits },
  { weight: 1, arbitrary: fc.constant(0) },
);

const DAY_MS = 86_400_000;

/** Windows and periods in ms: usual lengths, odd ones and the shortest. */
export const windows: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 100 }) },
  { weight: 3, arbitrary: fc.integer({ min: 101, max: 100_003 }) },
  { weight: 2, arbitrary: fc.constantFrom(1_000, 7_000, 10_000, 60_000, 3_600_000) },
  { weight: 1, arbitrary: fc.constantFrom(DAY_MS, 30 * DAY_MS, 365 * DAY_MS) },
);
