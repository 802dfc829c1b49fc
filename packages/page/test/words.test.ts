import { describe, expect, it } from '@jest/globals';
import type { PolicyState } from '../src/key-actions.ts';
import { countWords, policyWords, sharedWords, timeWords, windowWords } from '../app/words.ts';

const NOON = new Date(2026, 10, 28, 12, 0, 0).getTime();
const state: PolicyState = {
  ...{ name: 'api', limit: 100, used: 87, remaining: 13, windowMs: 60_000 },
  ...{ nextAtMs: NOON + 7_000, resetAtMs: NOON + 50_000 },
};

describe('a state in words', () => {
  it.each<[string, Partial<PolicyState>, string]>([
    ['a sliding window', {}, '87 of 100 in this minute, 13 left, 1 more at 12:00:07'],
    ['a fixed window', { nextAtMs: state.resetAtMs }, '87 of 100 in this minute, 13 left, 87 more at 12:00:50'],
    ['a window of several minutes', { windowMs: 900_000, nextAtMs: null }, '87 of 100 in these 15 minutes, 13 left'],
    ['a key that has used nothing', { used: 0, remaining: 100, nextAtMs: null }, '0 of 100 in this minute, 100 left'],
    [
      'a limit that was lowered',
      { used: 150, remaining: 0, nextAtMs: state.resetAtMs },
      '150 of 100 in this minute, 0 left, 100 more at 12:00:50',
    ],
    [
      'tomorrow',
      { nextAtMs: NOON + 86_400_000 },
      '87 of 100 in this minute, 13 left, 1 more at 12:00:00 on 2026-11-29',
    ],
  ])('says %s', (_what, changed, words) => {
    expect(policyWords({ ...state, ...changed }, NOON)).toBe(words);
  });

  it.each([
    [1000, 'second'],
    [60_000, 'minute'],
    [900_000, '15 minutes'],
    [86_400_000, 'day'],
    [1500, '1,500 ms'],
  ])('says a window of %d ms', (ms, words) => {
    expect(windowWords(ms)).toBe(words);
  });

  it('says a count with its bounds, unless it is exact', () => {
    expect(countWords({ count: 1200, atLeast: 1200, atMost: 1200 })).toBe('1,200');
    expect(countWords({ count: 1200, atLeast: 900, atMost: 1500 })).toBe('about 1,200 (900 to 1,500)');
  });

  it('says the time of an instant', () => {
    expect(timeWords(NOON, NOON)).toBe('12:00:00');
  });

  it('says whose counts are added up, how old they are, and since when they are not known', () => {
    const other = { pid: 7, host: 'web-7', sinceMs: 0, ageMs: 4_200 };
    const many = Array.from({ length: 7 }, (_, i) => ({ ...other, pid: i, ageMs: 0 }));

    expect(sharedWords({ others: [], awaySinceMs: null }, NOON)).toBe(
      'By this process: no other one shares its counts now.',
    );
    expect(sharedWords({ others: [other], awaySinceMs: null }, NOON)).toBe(
      'By this process and 1 more: 7 on web-7 (4 s ago). Each counts the last five to ten minutes.',
    );
    expect(sharedWords({ others: many, awaySinceMs: null }, NOON)).toContain('4 on web-7 (now) and 2 more.');
    expect(sharedWords({ others: [other], awaySinceMs: NOON }, NOON)).toMatch(
      /^Redis has not taken or given counts since 12:00:00:/,
    );
  });
});
