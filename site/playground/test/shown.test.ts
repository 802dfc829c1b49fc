import { describe, expect, it } from '@jest/globals';
import '../../../packages/core/src/policies/index.ts'; // fills ALGORITHMS, also if the package is built
import { ALGORITHMS } from '../../../packages/core/src/policies/rule.ts';
import { writeCode } from '../code.ts';
import { MAX_REQUESTS, parsePaste } from '../paste.ts';
import { POLICY_KINDS, checkPolicies, newPolicy, readOptions, withNames } from '../policies.ts';
import { PRESETS, drawPreset } from '../presets.ts';
import { replay, type Replayed } from '../replay.ts';
import { initialScenario, readScale } from '../scenario.ts';
import {
  describeColumn,
  describeRequest,
  describeSpan,
  drawRemaining,
  drawRequests,
  findNearest,
  highlight,
  showTime,
} from '../shown.ts';
import { findBusiestClients, countColumns, countTotals } from '../summary.ts';
import {
  COLUMNS,
  EMPTY,
  MAX_CLIENTS,
  MAX_IN_COLUMN,
  SPANS_MS,
  listRequests,
  paint,
  type Painted,
  type Pasted,
} from '../traffic.ts';

const KINDS = POLICY_KINDS.map(({ id }) => id);

function replayed(
  kind: string,
  values: Readonly<Record<string, string>>,
  times: readonly (readonly [atMs: number, client?: number, cost?: number])[],
  { isShared = false, retries = 'none' as Pasted['retries'] } = {},
): Replayed {
  const { policies = [] } = checkPolicies([{ kind, values: { name: 'p', ...values } }]);
  const requests = times.map(([atMs, client = 0, cost = 1]) => ({ atMs, client, cost }));
  const traffic: Pasted = { from: 'pasted', clients: ['a', 'b', 'c'], spanMs: 6_000, runsMs: 10, retries, requests };
  return replay(policies, traffic, { watched: 0, isShared });
}

describe('policies', () => {
  it('are those that core has, with a field for every option', () => {
    const listOptions = (id: string): unknown => {
      const names = ALGORITHMS.get(id)?.shape.flatMap((part) => Object.keys(part));
      return [...new Set(names)].sort();
    };
    const fields = POLICY_KINDS.map(({ id, fields: own, fixed = {} }) => {
      // The mode of a token bucket is chosen by its kind.
      const names = [...own.map(({ name }) => name), ...Object.keys(fixed), ...(id === 'tokenBucket' ? ['mode'] : [])];
      return [id, names.sort()];
    });

    expect(Object.fromEntries(fields)).toEqual(
      Object.fromEntries([...ALGORITHMS.keys()].map((id) => [id, listOptions(id)])),
    );
  });

  it('have as options what was filled and is no default', () => {
    const values = { limit: ' 5 ', window: '1m', align: 'first-hit', name: '' };

    expect(readOptions({ kind: 'fixedWindow', values })).toEqual({ limit: 5, window: '1m' });
    expect(readOptions({ kind: 'fixedWindow', values: { ...values, align: 'clock', name: 'calls' } })).toEqual({
      ...{ limit: 5, window: '1m', align: 'clock', name: 'calls' },
    });
  });

  it.each([
    ['slidingWindow', { limit: 'ten', window: '1m' }, 'limit'],
    ['slidingWindow', { limit: '10', window: '60 parsecs' }, 'window'],
    ['tokenBucket', { capacity: '0', refill: '1', every: '1s' }, 'capacity'],
    ['slidingWindow', { limit: '1', window: '1m', name: '9 lives' }, 'name'],
  ])('say in which field they are wrong: %s %p', (kind, values, field) => {
    const message = expect.stringContaining(field);

    expect(checkPolicies([newPolicy('slidingLog'), { kind, values }]).errors).toEqual([{ policy: 1, field, message }]);
  });

  it('get names that say what they are for, and differ', () => {
    const named = { kind: 'leakyBucket', values: { ...newPolicy('leakyBucket').values, name: 'Pace' } };
    const kinds = ['fixedWindow', 'slidingWindow', 'tokenBucket', 'concurrency', 'leakyBucket'];
    const choices = withNames([named, ...kinds.map((kind) => newPolicy(kind))]);

    expect(choices.map(({ values }) => values['name'])).toEqual([
      ...['Pace', 'per-20s', 'per-20s-2', 'burst', 'at-once', 'pace-2'],
    ]);
    expect(checkPolicies(choices).errors).toEqual([]);
    expect(checkPolicies([named, named]).errors).toMatchObject([{ policy: 1, field: 'name' }]);
  });
});

describe('painted traffic', () => {
  const empty: Painted = {
    from: 'painted',
    spanMs: 60_000,
    clients: [EMPTY, EMPTY],
    cost: 1,
    runsMs: 1,
    retries: 'none',
  };

  it('has the requests of a column spread evenly over it, and those of all clients in order', () => {
    const painted = paint(paint(empty, 0, { column: 1, count: 2 }), 1, { column: 1, count: 1 });

    expect(listRequests(painted).map(({ atMs, client }) => [atMs, client])).toEqual([
      [1_250, 0],
      [1_500, 1],
      [1_750, 0],
    ]);
  });

  it.each(PRESETS.map((preset) => [preset.id, preset] as const))('fits policies: %s', (_id, preset) => {
    const usual = KINDS.map((kind) => [newPolicy(kind)]);
    const strange = [
      ['1000000', '1d'],
      ['1', '1ms'],
      ['0', '36500d'],
      ['many', 'soon'],
    ].map(([limit = '', window = '']) => [{ kind: 'slidingWindow', values: { limit, window } }]);
    for (const policies of [...usual, ...strange]) {
      const { spanMs, clients, cost } = drawPreset(preset, readScale(policies, 1_000), 1_000);

      expect(SPANS_MS).toContain(spanMs);
      expect(cost).toBeGreaterThanOrEqual(1);
      expect(clients.length).toBeLessThanOrEqual(MAX_CLIENTS);
      expect(clients.every((counts) => counts.length === COLUMNS)).toBe(true);
      expect(clients.flat().every((n) => Number.isInteger(n) && n >= 0 && n <= MAX_IN_COLUMN)).toBe(true);
      if (usual.includes(policies)) expect(listRequests({ ...empty, clients }).length).toBeGreaterThan(10);
    }
  });
});

describe('pasted traffic', () => {
  const read = (...lines: readonly string[]): Pasted => parsePaste(lines.join('\n')).traffic as Pasted;
  const line = (address: string, time: string): string =>
    `${address} - frank [${time}] "GET /a HTTP/1.1" 200 2326 "http://example.com/" "Mozilla/4.08 [en] (Win98)"`;

  it.each([
    ['seconds from the start, in order', ['3', '0', '1.5'], [0, 1_500, 3_000]],
    ['seconds since 1970', ['1795262400.25', '1795262401'], [250, 1_000]],
    ['milliseconds since 1970', ['1795262400250', '1795262401000'], [250, 1_000]],
    ['ISO 8601', ['2026-11-24T08:00:00.5Z', '2026-11-24T10:00:01+02:00', '2026-11-24 08:00:02'], [500, 1_000, 2_000]],
  ])('has times as %s', (_as, lines, times) => {
    expect(read(...lines).requests.map(({ atMs }) => atMs)).toEqual(times);
  });

  it('may have a cost and a key', () => {
    const { requests, clients } = read('0 3 alice', '1 bob', '2,4', '3\t2\talice');

    expect(clients).toEqual(['alice', 'bob', 'no-key']);
    expect(requests.map(({ cost, client }) => [cost, client])).toEqual([
      [3, 0],
      [1, 1],
      [4, 2],
      [2, 0],
    ]);
  });

  it('may be an access log, whose requests of one second are spread over it', () => {
    const { traffic, notes } = parsePaste(
      [
        line('203.0.113.9', '24/Nov/2026:08:00:00 +0000'),
        line('203.0.113.9', '24/Nov/2026:08:00:00 +0000'),
        line('2001:db8::1', '24/Nov/2026:10:00:02 +0200'),
        line('203.0.113.9', '24/Nov/2026:07:59:59 +0000'),
      ].join('\n'),
    );

    expect(traffic?.requests.map(({ atMs, client }) => [atMs, client])).toEqual([
      [0, 0],
      [1_000, 0],
      [1_500, 0],
      [3_000, 1],
    ]);
    expect(notes).toEqual(['The log has whole seconds: the requests of a second are spread evenly over it.']);
  });

  it.each([
    ['# a comment\n\n0\nyesterday\n1 0 zero\n2', 2, '2 lines could not be read, such as “yesterday”.'],
    ['0\n1700000000', 1, 'One line more than 1000 days after the first left out.'],
    [
      '1\n'.repeat(MAX_REQUESTS + 1),
      MAX_REQUESTS,
      'Only the first 5000 requests are shown; sluice simulate replays whole logs.',
    ],
    [
      '1 x\n'.repeat(3) + '#'.repeat(1_000_000),
      3,
      'Only the first 3 requests are shown; sluice simulate replays whole logs.',
    ],
  ])('says what was left out: %#', (text, count, note) => {
    const { traffic, notes } = parsePaste(text);

    expect([traffic?.requests.length, notes]).toEqual([count, [note]]);
  });

  it.each([
    ['', /nothing to read yet/],
    ['# only a comment', /nothing to read yet/],
    [`a b ${'['.repeat(5_000_000)}`, /^One line could not be read, such as “a b .{36}…”\.$/],
    ['9'.repeat(5_000_000), /could not be read/],
    [`a b ${'[x'.repeat(2_000_000)}] "`, /could not be read/],
  ])('is none in what has no times, which is read at once: %#', (text, note) => {
    expect(parsePaste(text)).toEqual({ traffic: undefined, notes: [expect.stringMatching(note)] });
  });
});

describe('what a reader sees', () => {
  const { answers } = replayed('fixedWindow', { limit: '1', window: '2s' }, [[0], [100]], {
    retries: 'after',
  });
  const paced = replayed('leakyBucket', { limit: '1', window: '1s', maxDelay: '5s' }, [[0], [0], [0]]).answers;

  it.each([
    [250, '250 ms'],
    [12_449, '12.4 s'],
    [60_000, '1 min'],
    [100_000, '1 min 40 s'],
    [119_900, '2 min'],
    [5_400_000, '1 h 30 min'],
    [100_800_000, '1 d 4 h'],
  ])('of %p ms is %s', (ms, text) => {
    expect(showTime(ms)).toBe(text);
  });

  it('of requests and columns, in sentences for those who do not', () => {
    expect(answers.map(describeRequest)).toEqual([
      'at 0 ms: allowed',
      'at 100 ms: denied by p, again after 1.9 s',
      'at 2.1 s, retry 1: allowed',
    ]);
    expect(paced.map(describeRequest)[1]).toBe('at 0 ms: allowed, after a delay of 1 s');
    expect(describeSpan(12, 60_000)).toBe('12 s to 13 s');
    const columns = countColumns(answers, 6_000, 0).map(describeColumn);
    expect([0, 1, 2, 21].map((i) => columns[i])).toEqual([
      '1 request: 1 allowed, 0 denied',
      '1 request: 0 allowed, 1 denied',
      'no requests',
      '1 request: 1 allowed, 0 denied, 1 of them for another time',
    ]);
  });

  it('of all requests: what came again, what waited, and the most and the longest of one key', () => {
    const times = [[0], [0, 2], [1, 0], [1, 2], [3, 0]] as const;
    const totals = (isShared: boolean): unknown =>
      countTotals(replayed('fixedWindow', { limit: '1', window: '1s' }, times, { isShared }).answers, 1_000, isShared);

    expect(countTotals(answers, 2_000)).toMatchObject({ offered: 2, retried: 1, allowed: 2, denied: 1, max: 1 });
    expect(countTotals(paced, 1_000)).toMatchObject({ allowed: 3, delayed: 2, max: 1 });
    expect(totals(false)).toMatchObject({ allowed: 2, denied: 3, max: 1, longestDenialMs: 2 });
    expect(totals(true)).toMatchObject({ allowed: 1, denied: 4, max: 1, longestDenialMs: 3 });
  });

  it('of many clients: those with most requests', () => {
    const { traffic = initialScenario().traffic } = parsePaste('0 a\n1 b\n2 c\n3 c\n4 b\n5 c');

    expect([3, 2].map((max) => findBusiestClients(traffic, max))).toEqual([
      [0, 1, 2],
      [2, 1],
    ]);
  });

  it('of drawings: a step for each change, a stroke for each request, and the nearest of them', () => {
    const drawn = replayed('fixedWindow', { limit: '2', window: '3s' }, [[1_500], [3_000]]);

    expect(drawRemaining(drawn.samples, 0, 2, 6_000)).toBe('M0,0H250V50H500V100H750V0H1000');
    expect(drawRemaining([], 0, 2, 6_000)).toBe('');
    expect(drawRequests(drawn.answers, 6_000)).toBe('M250,0V100M500,0V100');
    expect([0, 2_249, 2_251, 9_000].map((atMs) => findNearest(drawn.answers, atMs))).toEqual([0, 0, 1, 1]);
    expect(findNearest([], 0)).toBe(-1);
  });

  it.each([
    ["const a = f('it\\'s', 40); // why", 'javascript', ['keyword', 'name', 'string', 'number', 'comment']],
    ['HTTP/1.1 200 OK\nRateLimit: "a";r=1', 'http', ['keyword', 'name', 'string', 'number']],
    [writeCode({ ...initialScenario(), framework: 'core' }), 'javascript', undefined],
  ] as const)('of code, in colours: %#', (code, language, kinds) => {
    const tokens = highlight(code, language);

    expect(tokens.map(({ text }) => text).join('')).toBe(code);
    if (kinds) expect(tokens.flatMap(({ kind }) => (kind === 'plain' ? [] : [kind]))).toEqual(kinds);
  });
});
