import { describe, expect, it } from '@jest/globals';
import { splitWindowAlgorithm, type SplitWindowPolicy, type SplitWindowState } from '../src/shares/split-window.ts';

const { kernel, refund } = splitWindowAlgorithm;

/** A share of three in a window that ends at 1000. */
const here: SplitWindowPolicy = {
  algorithm: 'splitWindow',
  limit: 3,
  nextLimit: 3,
  windowMs: 1000,
  endMs: 1000,
  mayHaveEnded: false,
  aheadMs: 0,
  countDenied: false,
};
/** The same when it may be over. */
const boundary: SplitWindowPolicy = { ...here, mayHaveEnded: true };
const next: SplitWindowPolicy = { ...here, endMs: 2000 };

function after(policy: SplitWindowPolicy, state: SplitWindowState | undefined, cost: number, nowMs: number) {
  return kernel(policy, state, cost, nowMs).state;
}

describe('a unit near the boundary of two windows', () => {
  it('is charged to both', () => {
    const state = after(boundary, undefined, 2, 998);

    expect(kernel(next, state, 1, 1002).verdict).toMatchObject({ allowed: true, remaining: 0 });
    expect(kernel(next, state, 2, 1002).verdict).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 998 });
  });

  it('is denied where the first of them is used up, until the next has begun', () => {
    const state = after(here, undefined, 3, 500);

    expect(kernel(boundary, state, 1, 998).verdict).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 2 });
    expect(kernel(next, state, 1, 1000).verdict).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('is denied where the second one holds less, though the first has room', () => {
    const smaller = { ...boundary, nextLimit: 1 };
    const state = after(smaller, undefined, 1, 998);

    expect(kernel(smaller, state, 1, 999).verdict).toMatchObject({ allowed: false, retryAfterMs: 1001, remaining: 0 });
    expect(kernel(here, state, 1, 999).verdict).toMatchObject({ allowed: true });
  });

  it('is given back to both', () => {
    const state = after(boundary, undefined, 2, 998) as SplitWindowState;

    const given = refund(boundary, state, 2, 2000, 999);

    expect(given).toMatchObject({ used: 0, usedNext: 0 });
  });
});

describe('a unit within a window', () => {
  it('is not counted in the next one', () => {
    const state = after(here, undefined, 3, 500);

    expect(kernel(next, state, 3, 1000).verdict).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('is given back to that window alone', () => {
    const state = after(here, after(boundary, undefined, 1, 998), 1, 998) as SplitWindowState;

    expect(refund(here, state, 1, 1000, 999)).toMatchObject({ used: 1, usedNext: 1 });
    expect(refund(here, state, 1, 3000, 999)).toBe(state);
  });

  it('that is denied changes nothing', () => {
    const state = after(here, undefined, 3, 500);

    expect(kernel(here, state, 1, 600).state).toBe(state);
    expect(kernel(here, state, 0, 600).state).toBe(state);
  });
});

describe('a share that has become smaller than what was used', () => {
  it('leaves nothing, and no less', () => {
    const state = after(here, undefined, 3, 500);

    expect(kernel({ ...here, limit: 1 }, state, 1, 600).verdict).toMatchObject({ allowed: false, remaining: 0 });
  });
});

describe('units of a window of another length', () => {
  it('count until it ends', () => {
    const state = after({ ...here, windowMs: 700, endMs: 700 }, undefined, 3, 500);

    expect(kernel(here, state, 1, 600).verdict.allowed).toBe(false);
    expect(kernel(next, state, 1, 1400).verdict.allowed).toBe(true);
  });
});
