import type fc from 'fast-check';
import type { Policy } from '@sluice/old-core';

/** A model's own record of a charge, for a refund; independent of the kernels. */
export type Receipt = bigint;

/**
 * One key under one policy, by the promises of design.md §5 alone: exact, slow, simple. Times are whole milliseconds,
 * and every number is a BigInt.
 *
 * Waits are not computed but searched for (see verdict.ts), so a model only has to report the state at an instant.
 */
export interface Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  /**
   * Whether this many units would be allowed then, without other requests. Once true, true for every later instant.
   */
  fits(cost: bigint, atMs: bigint): boolean;
  /** Units that are used then: a part of one counts as one. */
  used(atMs: bigint): bigint;
  /** Whole units that are available then. */
  remaining(atMs: bigint): bigint;
  /** Pacing: how long the first unit of a request that is allowed then waits for its start. Missing: no wait. */
  delay?(atMs: bigint): bigint;
  /** Whether it is as if never used, from then on. */
  isUnused(atMs: bigint): boolean;
  charge(cost: bigint, atMs: bigint): Receipt;
  /** Whether it can report when one more unit becomes available. Default true. */
  readonly reportsNext?: boolean;
  /** The kind of its units, when they are not requests. */
  readonly unit?: 'concurrent-requests';
  refund(cost: bigint, receipt: Receipt, atMs: bigint): void;
  /**
   * Charges this many units more, beyond the limit too: to the receipt's window until it ends, to a bucket at any
   * time.
   */
  overcharge?(cost: bigint, receipt: Receipt, atMs: bigint): void;
  /** Refunds the newest units that count, as many as are used at most. Missing: units belong to their holders. */
  refundNewest?(cost: bigint, atMs: bigint): void;
  /** Charges this many units that are used then, beyond the limit too. */
  chargeNow?(cost: bigint, atMs: bigint): void;
  /** Whether a cost that it denies is charged. */
  readonly countsDenied?: boolean;
}

/** All that the suites need to know of an algorithm. */
export interface Reference {
  /** The `name` of the algorithm in the registry. */
  readonly algorithm: string;
  /** The policy of a vector's options, made by the public factory. */
  readonly policyOf: (options: Readonly<Record<string, unknown>>) => Policy;
  /** Policies of all sizes: ordinary, odd, tiny, huge. */
  readonly policies: fc.Arbitrary<Policy>;
  readonly model: (policy: Policy) => Model;
  /** When units can be refunded: until the charged window ends, or at any time. */
  readonly refundable: 'in-window' | 'always';
  /**
   * The most units in any interval whose first and last unit are `spanMs` apart: the table of design.md §5. With
   * `refunds` the units that were refunded in it are subtracted.
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

export function floorDiv(a: bigint, b: bigint): bigint {
  return a < 0n ? -ceilDiv(-a, b) : a / b;
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function greatest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
