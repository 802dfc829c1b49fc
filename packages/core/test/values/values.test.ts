import { describe, expect, it } from '@jest/globals';
import { shown, StoreError } from '../../src/errors.ts';
import { parseDuration, writeDuration } from '../../src/values/duration.ts';
import { useWarnings } from '../use-warnings.ts';

const warnings = useWarnings();

describe('a duration', () => {
  it.each<[unknown, number]>([
    ['500ms', 500],
    ['10s', 10_000],
    ['5 m', 300_000],
    ['0.1h', 360_000],
    ['1.5s', 1_500],
    ['36500d', 3_153_600_000_000],
    [1_500, 1_500],
  ])('%p is %d ms', (given, ms) => {
    expect(parseDuration(given, 'length')).toBe(ms);
  });

  it.each(['', '10', 's', '-1s', '1e3s', '10 parsecs', '1m30s', null, {}, Number.NaN])(
    '%p is rejected with the units',
    (given) => {
      expect(() => parseDuration(given, 'length')).toThrow(/length must be a duration .* known units: ms, s, m, h, d/);
    },
  );

  it.each([0, -5, 1.5, '0s', '0.5ms', '36501d', Infinity])('%p is rejected with the bounds', (given) => {
    expect(() => parseDuration(given, 'length')).toThrow(/whole number of milliseconds from 1 to 36500d, got/);
  });

  it.each([
    [60_000, '1m'],
    [90_000, '90s'],
    [86_400_000, '1d'],
    [1_500, '1500ms'],
    [0, '0ms'],
  ])('of %d ms is written as %s', (ms, text) => {
    expect(writeDuration(ms)).toBe(text);
  });

  it('that was probably meant as seconds is warned about', () => {
    for (const window of ['60ms', 500 * 60, 60_000, 1_500, 60]) parseDuration(window, 'window');

    expect(warnings).toEqual([
      "SLUICE_UNIT_MISSING: window: 60 is 60 milliseconds: write window: '60ms' for that, or '60s' for seconds.",
    ]);
  });
});

describe('a value in an error', () => {
  it.each<[unknown, string]>([
    ['5', '"5"'],
    [5, '5'],
    [-0, '-0'],
    [5n, '5n'],
    [undefined, 'undefined'],
    ['redis://ada:secret@host', '"redis://...@host"'],
    [shown, 'a function (shown)'],
    [[1, 2], 'an array of 2'],
    [{}, 'an object with no fields'],
    ['x'.repeat(99), `"${'x'.repeat(79)}...`],
  ])('%p is shown as %s', (value, text) => {
    expect(shown(value)).toBe(text);
  });
});

describe('a failure of a store', () => {
  it('may have reached the store, unless it is known that it has not', () => {
    expect(new StoreError('SLUICE_STORE_TIMEOUT', 'late')).toMatchObject({ kind: 'timeout', sent: true });
    expect(new StoreError('SLUICE_BREAKER_OPEN', 'open')).toMatchObject({ kind: 'open', sent: false });
    expect(new StoreError('SLUICE_STORE_FAILED', 'no', { kind: 'connection', sent: false })).toMatchObject({
      sent: false,
    });
  });
});
