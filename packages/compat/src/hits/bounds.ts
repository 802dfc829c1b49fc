import type { Duration } from '@sluice/old-core';
import { LARGEST_LIMIT, LONGEST_MS } from '@sluice/old-core/spi';

/** The next window that is one: peers take any number of milliseconds. */
export function windowWithin(ms: number): Duration {
  return `${String(millisecondsWithin(ms)) as `${number}`}ms`;
}

export function millisecondsWithin(ms: number): number {
  return Number.isNaN(ms) ? 1 : Math.min(Math.max(Math.ceil(ms), 1), LONGEST_MS);
}

/** The next limit that means the same: a whole number, and at least 0. */
export function unitsWithin(units: number): number {
  return Math.min(Math.max(Math.floor(units), 0), LARGEST_LIMIT);
}

export function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000);
}
