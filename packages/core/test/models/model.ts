import type fc from 'fast-check';
import type { Policy } from '@sluice/core';

/** What a model says was charged, so that it can be given back: its own note, nothing a kernel made. */
export type Receipt = bigint;

/**
 * One key under one policy, by the promises of design.md §5 and nothing else: exact, slow, plain. Times are whole milliseconds, everything is a BigInt.
 *
 * Waits are not computed but searched for (see verdict.ts), so a model only has to say how things stand at an instant.
 */
export interface Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  /** Whether so many units would be admitted then, were nobody else to ask. Once true, true for every later instant. */
  fits(cost: bigint, atMs: bigint): boolean;
  /** Whole units that can be had then. */
  remaining(atMs: bigint): bigint;
  /** Pacing: how long the first unit of a request that is admitted then waits for its start. Not at all where this is missing. */
  delay?(atMs: bigint): bigint;
  /** Whether it stands as if never used, from then on. */
  isUnused(atMs: bigint): boolean;
  charge(cost: bigint, atMs: bigint): Receipt;
  /** Whether it can say when one more unit can be had. Default true. */
  readonly tellsNext?: boolean;
  /** What its units are, where they are no requests. */
  readonly unit?: 'concurrent-requests';
  refund(cost: bigint, receipt: Receipt, atMs: bigint): void;
  /** Charges so many units more, whatever the limit says, to the window of that receipt while it lives, to a bucket at any time. */
  overcharge?(cost: bigint, receipt: Receipt, atMs: bigint): void;
}

/** All that the suites need to know of an algorithm. */
export interface Reference {
  /** The `name` of the algorithm in the registry. */
  readonly algorithm: string;
  /** The policy of a vector's options, made as a user makes it. */
  readonly policyOf: (options: Readonly<Record<string, unknown>>) => Policy;
  /** Policies of all sizes: ordinary, odd, tiny, huge. */
  readonly policies: fc.Arbitrary<Policy>;
  readonly model: (policy: Policy) => Model;
  /** Until when units can be given back: while the window that was charged lives, or at any time. */
  readonly takesBack: 'in-window' | 'always';
  /**
   * The most units that any interval may see whose first and last unit lie `spanMs` apart: the table of design.md §5. With `refunds` the units that were
   * given back in it are subtracted.
   */
  readonly most: (policy: Policy, spanMs: bigint, refunds: boolean) => bigint;
}

/** The most units that are counted, in a window or as a time of 1/p ms. */
export const MOST_UNITS: bigint = 2n ** 52n;

/** A policy's options as BigInts, when they are numbers. */
export function big(value: number): bigint {
  return BigInt(value);
}

export function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
