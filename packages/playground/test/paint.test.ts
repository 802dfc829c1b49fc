import { describe, expect, it } from '@jest/globals';
import {
  COLUMNS,
  EMPTY,
  MOST_CLIENTS,
  MOST_IN_COLUMN,
  PRESETS,
  POLICY_KINDS,
  SPANS_MS,
  newPolicy,
  offeredBy,
  paint,
  presetTraffic,
  scaleOf,
  spotAt,
  topOf,
  withClient,
  withoutClient,
  type Painted,
} from '../src/index.ts';

const empty: Painted = { from: 'painted', spanMs: 60_000, clients: [EMPTY], cost: 1, runsMs: 1_000 };

describe('a pointer over a row of bars', () => {
  it('points at a column and a number of requests', () => {
    expect(spotAt(0.5, 0.25, 20)).toEqual({ column: 30, count: 5 });
  });

  it.each([
    [-1, -1, { column: 0, count: 0 }],
    [2, 2, { column: COLUMNS - 1, count: 40 }],
    [Number.NaN, Number.NaN, { column: 0, count: 0 }],
  ])('is at the nearest place where it has left the row (%p, %p)', (x, y, spot) => {
    expect(spotAt(x, y, 20)).toEqual(spot);
  });
});

describe('painting', () => {
  it('sets a column, and leaves the others and the given traffic alone', () => {
    const painted = paint(empty, 0, { column: 7, count: 3 });

    expect(painted.clients[0]).toEqual(EMPTY.with(7, 3));
    expect(empty.clients[0]).toEqual(EMPTY);
  });

  it.each([
    ['to the right', { column: 2, count: 0 }, { column: 6, count: 8 }, [0, 2, 4, 6, 8]],
    ['to the left', { column: 6, count: 8 }, { column: 2, count: 0 }, [0, 2, 4, 6, 8]],
  ])('%s sets all columns on the way', (_way, from, to, counts) => {
    expect(paint(empty, 0, to, from).clients[0]?.slice(2, 7)).toEqual(counts);
  });

  it('takes up to four clients, and keeps one', () => {
    const full = Array.from({ length: 9 }).reduce<Painted>((traffic) => withClient(traffic), empty);

    expect(full.clients).toHaveLength(MOST_CLIENTS);
    expect(withoutClient(paint(empty, 0, { column: 1, count: 1 }), 0).clients).toEqual([EMPTY]);
    expect(withoutClient(full, 2).clients).toHaveLength(MOST_CLIENTS - 1);
  });

  it.each([
    [0, 10],
    [8, 10],
    [9, 20],
    [32, 40],
    [MOST_IN_COLUMN, MOST_IN_COLUMN],
  ])('has room above bars of up to %p', (most, top) => {
    expect(topOf(most)).toBe(top);
  });
});

describe('painted requests', () => {
  it('are spread evenly over their column', () => {
    const { clients } = paint(empty, 0, { column: 2, count: 4 });

    expect(offeredBy({ ...empty, clients }).map(({ atMs }) => atMs)).toEqual([2_125, 2_375, 2_625, 2_875]);
  });

  it('of all clients are in the order of time', () => {
    const painted = paint(paint(withClient(empty), 0, { column: 1, count: 2 }), 1, { column: 1, count: 1 });

    expect(offeredBy(painted).map(({ atMs, client }) => [atMs, client])).toEqual([
      [1_250, 0],
      [1_500, 1],
      [1_750, 0],
    ]);
  });
});

describe.each(PRESETS.map((preset): [string, (typeof PRESETS)[number]] => [preset.id, preset]))(
  'the preset %s',
  (_id, preset) => {
    it.each(POLICY_KINDS.map(({ id }) => id))('draws traffic that fits %s', (id) => {
      const { spanMs, clients, cost } = presetTraffic(preset, scaleOf([newPolicy(id)], 1_000), 1_000);

      expect(SPANS_MS).toContain(spanMs);
      expect(cost).toBe(1);
      expect(clients.length).toBeLessThanOrEqual(MOST_CLIENTS);
      expect(clients.every((counts) => counts.length === COLUMNS)).toBe(true);
      expect(clients.flat().every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
      expect(offeredBy({ ...empty, clients }).length).toBeGreaterThan(10);
    });

    it.each([
      ['1000000', '1d'],
      ['1', '1ms'],
      ['0', '36500d'],
      ['many', 'soon'],
      ['', ''],
    ])('draws traffic for a limit of %p per %p', (limit, window) => {
      const policies = [{ kind: 'slidingWindow', name: '', values: { limit, window } }];
      const { clients, cost } = presetTraffic(preset, scaleOf(policies, 1_000), 1_000);

      expect(cost).toBeGreaterThanOrEqual(1);
      expect(clients.flat().every((count) => Number.isInteger(count) && count >= 0 && count <= MOST_IN_COLUMN)).toBe(
        true,
      );
    });
  },
);
