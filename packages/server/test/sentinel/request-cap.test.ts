import { describe, expect, it } from '@jest/globals';
import { RequestCap } from '../../src/sentinel/request-cap.ts';

const NOW_MS = 5_000_000;

describe('the cap of a namespace', () => {
  it('allows so many requests in a second, in tenths of it, and no more', () => {
    const cap = new RequestCap();

    const allowed = Array.from({ length: 100 }, (_one, i) => cap.allows(30, NOW_MS + i * 10)).filter(Boolean);

    expect(allowed).toHaveLength(30);
  });

  it('forgets a tenth of a second when it is a second old', () => {
    const cap = new RequestCap();
    cap.allows(2, NOW_MS);
    cap.allows(2, NOW_MS + 500);

    expect(cap.allows(2, NOW_MS + 999)).toBe(false);
    expect(cap.allows(2, NOW_MS + 1_000)).toBe(true);
    expect(cap.allows(2, NOW_MS + 1_001)).toBe(false);
  });

  it('forgets everything after a pause', () => {
    const cap = new RequestCap();
    for (let i = 0; i < 10; i++) cap.allows(10, NOW_MS + i * 100);

    const later = Array.from({ length: 20 }, () => cap.allows(10, NOW_MS + 3_600_000)).filter(Boolean);

    expect(later).toHaveLength(10);
  });
});
