import { writtenDuration } from '../values/duration.ts';
import type { FactoryOption } from './algorithm.ts';

/** Options that several factories take. */
export const LIMIT: FactoryOption = { placeholder: 'units', description: 'units per window' };
export const WINDOW: FactoryOption = {
  placeholder: 'duration',
  description: 'length of the window, such as 500ms, 10s, 5m, 1h or 1d',
};

/** A limit and its window in a few words. */
export function perWindow({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }): string {
  return `${String(limit)} per ${writtenDuration(windowMs)}`;
}

/** A bucket of either mode in a few words: one function makes both. */
export function writtenBucket({ capacity, refill, everyMs, overdraft }: Bucket): string {
  const rate = `tokenBucket ${String(capacity)}, ${String(refill)} per ${writtenDuration(everyMs)}`;
  return overdraft === 0 ? rate : `${rate}, overdraft ${String(overdraft)}`;
}

interface Bucket {
  readonly capacity: number;
  readonly refill: number;
  readonly everyMs: number;
  readonly overdraft: number;
}
