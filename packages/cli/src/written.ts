import type { Policy } from '@sluice/core';

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** A duration as it is written in options: in the largest unit that it is a whole number of. */
export function writtenDuration(ms: number): string {
  const [name, unit] = UNITS.find(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1];
  return `${String(ms / unit)}${name}`;
}

/** A policy in a few words, with what is not the default. */
export function writtenPolicy(policy: Policy): string {
  switch (policy.algorithm) {
    case 'fixedWindow':
      return `fixedWindow ${perWindow(policy)}${policy.align === 'clock' ? ', align clock' : ''}`;
    case 'slidingWindow': {
      const isDefault = policy.precisionMs === Math.ceil(policy.windowMs / 10);
      return `slidingWindow ${perWindow(policy)}${isDefault ? '' : `, precision ${writtenDuration(policy.precisionMs)}`}`;
    }
    case 'slidingCounter':
      return `slidingCounter ${perWindow(policy)}`;
    case 'slidingLog':
      return `slidingLog ${perWindow(policy)}`;
    case 'concurrency':
      return `concurrency ${String(policy.limit)} for ${writtenDuration(policy.ttlMs)} each`;
    case 'tokenBucket':
      return bucket(policy);
    case 'intervalBucket':
      return `${bucket(policy)}, mode interval`;
    case 'leakyBucket':
      return `leakyBucket ${perWindow(policy)}, max delay ${writtenDuration(policy.maxDelayMs)}`;
  }
}

function perWindow({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }): string {
  return `${String(limit)} per ${writtenDuration(windowMs)}`;
}

interface Bucket {
  readonly capacity: number;
  readonly refill: number;
  readonly everyMs: number;
  readonly overdraft: number;
}

function bucket({ capacity, refill, everyMs, overdraft }: Bucket): string {
  const rate = `tokenBucket ${String(capacity)}, ${String(refill)} per ${writtenDuration(everyMs)}`;
  return overdraft === 0 ? rate : `${rate}, overdraft ${String(overdraft)}`;
}

/** An instant as people and programs read it, in UTC. */
export function writtenInstant(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** A time to wait, in its two largest units, rounded up in the smaller one. */
export function writtenSpan(ms: number): string {
  if (ms < 1_000) return `${String(ms)}ms`;
  const [largest = ['s', 1_000]] = UNITS.filter(([, length]) => ms >= length);
  const smaller = UNITS[UNITS.findIndex(([name]) => name === largest[0]) + 1];
  if (smaller === undefined) return `${String(Math.ceil(ms / 1_000))}s`;
  const rounded = Math.ceil(ms / smaller[1]);
  const rest = rounded % (largest[1] / smaller[1]);
  const whole = Math.floor((rounded * smaller[1]) / largest[1]);
  return `${String(whole)}${largest[0]}${rest === 0 ? '' : ` ${String(rest)}${smaller[0]}`}`;
}
