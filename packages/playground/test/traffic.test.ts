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
  type Pasted,
} from '../src/index.ts';
import { MOST_PASTED, parsePaste, spanOf } from '../src/paste.ts';

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

const read = (...lines: readonly string[]): Pasted => {
  const { traffic } = parsePaste(lines.join('\n'), 500);
  if (traffic === undefined) throw new Error('nothing was read');
  return traffic;
};
const times = ({ requests }: Pasted): readonly number[] => requests.map(({ atMs }) => atMs);

describe('lines of times', () => {
  it.each([
    ['seconds from the start', ['0', '1.5', '3s', '3250ms'], [0, 1_500, 3_000, 3_250]],
    ['seconds since 1970', ['1795262400.25', '1795262401'], [250, 1_000]],
    ['milliseconds since 1970', ['1795262400250', '1795262401000'], [250, 1_000]],
    ['ISO 8601', ['2026-11-24T08:00:00.5Z', '2026-11-24T10:00:01+02:00', '2026-11-24 08:00:02'], [500, 1_000, 2_000]],
  ])('are read as %s', (_as, lines, expected) => {
    expect(times(read(...lines))).toEqual(expected);
  });

  it('may have a cost and a key', () => {
    const { requests, clients } = read('0 3 alice', '1 bob', '2,4', '3\t2\talice');

    expect(clients).toEqual(['alice', 'bob', 'no key']);
    expect(requests.map(({ cost, client }) => [cost, client])).toEqual([
      [3, 0],
      [1, 1],
      [4, 2],
      [2, 0],
    ]);
  });

  it('are put in order', () => {
    expect(times(read('3', '1', '2'))).toEqual([1_000, 2_000, 3_000]);
  });

  it('are left out and told of where they cannot be read', () => {
    const { traffic, notes } = parsePaste('# a comment\n\n0\nyesterday\n1 0 zero\n2', 500);

    expect(traffic?.requests).toHaveLength(2);
    expect(notes).toEqual(['2 lines could not be read, such as “yesterday”.']);
  });

  it('beyond what the page shows are left out and told of', () => {
    const { traffic, notes } = parsePaste('1\n'.repeat(MOST_PASTED + 7), 500);

    expect(traffic?.requests).toHaveLength(MOST_PASTED);
    expect(notes.join()).toContain(
      `The first ${String(MOST_PASTED)} requests are shown, and 7 lines after them left out`,
    );
  });

  it('that come years after the first are left out and told of', () => {
    const { traffic, notes } = parsePaste('0\n1700000000\n9007199254740991', 500);

    expect(traffic).toMatchObject({ spanMs: 1_000, requests: [{ atMs: 0 }] });
    expect(notes).toEqual([
      'One line could not be read, such as “9007199254740991”.',
      'One line came more than 1000 days after the first, and was left out.',
    ]);
  });

  it.each([
    ['a line of megabytes that begins as a log does', `a b ${'['.repeat(5_000_000)}`],
    ['digits without end', '9'.repeat(5_000_000)],
    ['millions of lines that are no log', 'x\n'.repeat(3_000_000)],
    ['a stamp that never ends', `a b ${'[x'.repeat(2_000_000)}] "`],
  ])('are none in %s, which is read at once', (_what, text) => {
    const { traffic, notes } = parsePaste(text, 500);

    expect(traffic).toBeUndefined();
    expect(notes[0]).toMatch(/could not be read, such as “.{1,40}…?”\.$/);
  });

  it.each(['', '  \n# only a comment', 'hello'])('are none in %p', (text) => {
    const { traffic, notes } = parsePaste(text, 500);

    expect(traffic).toBeUndefined();
    expect(notes).toHaveLength(1);
  });
});

describe('lines of an access log', () => {
  const line = (address: string, time: string): string =>
    `${address} - frank [${time}] "GET /a HTTP/1.1" 200 2326 "http://example.com/" "Mozilla/4.08 [en] (Win98)"`;

  it('are requests of their addresses', () => {
    const { clients, requests } = read(
      line('203.0.113.9', '24/Nov/2026:08:00:00 +0000'),
      line('2001:db8::1', '24/Nov/2026:10:00:02 +0200'),
      line('203.0.113.9', '24/Nov/2026:07:59:59 +0000'),
    );

    expect(clients).toEqual(['203.0.113.9', '2001:db8::1']);
    expect(requests.map(({ atMs, client }) => [atMs, client])).toEqual([
      [0, 0],
      [1_000, 0],
      [3_000, 1],
    ]);
  });

  it('of one second are spread over it, which is told', () => {
    const { traffic, notes } = parsePaste(
      Array.from({ length: 4 }, () => line('203.0.113.9', '24/Nov/2026:08:00:00 +0000')).join('\n'),
      500,
    );

    expect(traffic?.requests.map(({ atMs }) => atMs)).toEqual([0, 250, 500, 750]);
    expect(notes).toEqual(['The log has whole seconds: the requests of a second are spread evenly over it.']);
  });
});

describe('the span of what was pasted', () => {
  it.each([
    [0, 1_000],
    [1_000, 2_000],
    [59_999, 60_000],
    [60_000, 70_000],
    [3_599_999, 3_600_000],
    [86_400_000 * 9, 86_400_000 * 12],
  ])('that ends at %p ms is %p ms', (last, span) => {
    expect(spanOf(last)).toBe(span);
  });
});
