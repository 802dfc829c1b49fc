import type { Policy } from '@sluice/old-core';
import { concurrencyReference } from './concurrency.ts';
import { fixedWindowReference } from './fixed-window.ts';
import { intervalBucketReference } from './interval-bucket.ts';
import { leakyBucketReference } from './leaky-bucket.ts';
import type { Reference } from './model.ts';
import { slidingCounterReference } from './sliding-counter.ts';
import { slidingLogReference } from './sliding-log.ts';
import { slidingWindowReference } from './sliding-window.ts';
import { tokenBucketReference } from './token-bucket.ts';

/** The reference of every algorithm. A new algorithm needs a line here and vectors; every law then tests it. */
export const references: readonly Reference[] = [
  fixedWindowReference,
  slidingWindowReference,
  slidingLogReference,
  tokenBucketReference,
  intervalBucketReference,
  leakyBucketReference,
  slidingCounterReference,
  concurrencyReference,
];

export function referenceOf({ algorithm }: Policy): Reference {
  const found = references.find((reference) => reference.algorithm === algorithm);
  if (found === undefined)
    throw new Error(`no model of ${algorithm}: add packages/old-core/test/laws/models/${algorithm}.ts`);
  return found;
}
