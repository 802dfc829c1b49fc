import { describe, expect, it } from '@jest/globals';
import {
  HEADER_CHOICES,
  busiestClients,
  checkedPolicies,
  codeOf,
  columnSpan,
  columnText,
  columnsOf,
  counted,
  highlight,
  initialScenario,
  nearest,
  newPolicy,
  parsePaste,
  remainingPath,
  replay,
  requestText,
  responseTo,
  shownTime,
  ticksPath,
  totalsOf,
  withNames,
  type Answer,
  type Replayed,
} from '../src/index.ts';

function decided(kind: string, values: Readonly<Record<string, string>>, times: readonly number[], cost = 1): Replayed {
  const { policies = [] } = checkedPolicies([{ kind, name: 'p', values }]);
  const offered = times.map((atMs) => ({ atMs, client: 0, cost, runsMs: 10 }));
  return replay(policies, offered, { spanMs: 6_000, watched: 0, shared: false });
}

describe('a time', () => {
  it.each([
    [0, '0 ms'],
    [250, '250 ms'],
    [1_000, '1 s'],
    [12_449, '12.4 s'],
    [60_000, '1 min'],
    [100_000, '1 min 40 s'],
    [119_900, '2 min'],
    [3_600_000, '1 h'],
    [5_400_000, '1 h 30 min'],
    [86_400_000, '1 d'],
    [100_800_000, '1 d 4 h'],
  ])('of %p ms is shown as %s', (ms, text) => {
    expect(shownTime(ms)).toBe(text);
  });
});

describe('what a reader hears', () => {
  const { answers } = decided('fixedWindow', { limit: '1', window: '5s' }, [0, 500]);
  const paced = decided('leakyBucket', { limit: '1', window: '1s', maxDelay: '5s' }, [0, 500]);
  const never = decided('fixedWindow', { limit: '1', window: '5s' }, [0], 2);

  it('of requests is their outcome', () => {
    expect(answers.map(requestText)).toEqual(['at 0 ms: allowed', 'at 500 ms: denied by p, again after 4.5 s']);
    expect(paced.answers.map(requestText)[1]).toBe('at 500 ms: allowed, after a delay of 500 ms');
    expect(never.answers.map(requestText)).toEqual(['at 0 ms: denied by p']);
  });

  it('of columns is their time and how many requests were allowed', () => {
    expect(columnSpan(12, 60_000)).toBe('12 s to 13 s');
    expect(columnsOf(answers, 6_000).map(columnText).slice(0, 6)).toEqual([
      '1 request: 1 allowed, 0 denied',
      ...Array.from({ length: 4 }, () => 'no requests'),
      '1 request: 0 allowed, 1 denied',
    ]);
    expect(counted(2, 'request')).toBe('2 requests');
  });
});

describe('the totals', () => {
  it('are of all requests, with the longest times', () => {
    const { answers } = decided('fixedWindow', { limit: '2', window: '1s' }, [0, 999, 999, 999, 1_000, 1_001, 1_500]);

    expect(totalsOf(answers, 1_000)).toEqual({
      offered: 7,
      retried: 0,
      allowed: 4,
      delayed: 0,
      denied: 3,
      most: 3,
      longestDenialMs: 0,
      longestDelayMs: 0,
    });
  });

  it('of several keys are those of the key that has most', () => {
    const { policies = [] } = checkedPolicies([
      { kind: 'fixedWindow', name: '', values: { limit: '1', window: '1s' } },
    ]);
    const offered = [0, 2, 0, 2].map((client, i) => ({ atMs: i, client, cost: 1, runsMs: 1 }));
    const whole = { spanMs: 10, watched: 0 };

    expect(totalsOf(replay(policies, offered, { ...whole, shared: false }).answers, 1_000)).toMatchObject({
      most: 1,
      allowed: 2,
    });
    expect(totalsOf(replay(policies, offered, { ...whole, shared: true }).answers, 1_000, true)).toMatchObject({
      ...{ most: 1, allowed: 1, longestDenialMs: 2 },
    });
  });

  it('count what is paced when it starts', () => {
    const { answers } = decided('leakyBucket', { limit: '1', window: '1s', maxDelay: '5s' }, [0, 0, 0]);

    expect(totalsOf(answers, 1_000)).toMatchObject({ allowed: 3, delayed: 2, most: 1, longestDelayMs: 2_000 });
  });
});

describe('requests that come again', () => {
  const { policies = [] } = checkedPolicies([{ kind: 'fixedWindow', name: 'p', values: { limit: '1', window: '2s' } }]);
  const offered = [0, 100].map((atMs) => ({ atMs, client: 0, cost: 1, runsMs: 10 }));
  const { answers } = replay(policies, offered, { spanMs: 6_000, watched: 0, shared: false, retries: 'after' });

  it('are counted beside those that were offered', () => {
    expect(totalsOf(answers, 2_000)).toMatchObject({ offered: 2, retried: 1, allowed: 2, denied: 1 });
    expect(columnsOf(answers, 6_000)[21]).toEqual({ allowed: 1, delayed: 0, denied: 0, retried: 1 });
  });

  it('are told of as such', () => {
    expect(answers.map(requestText)).toEqual([
      'at 0 ms: allowed',
      'at 100 ms: denied by p, again after 1.9 s',
      'at 2.1 s, retry 1: allowed',
    ]);
    expect(columnsOf(answers, 6_000).map(columnText)[21]).toBe(
      '1 request: 1 allowed, 0 denied, 1 of them for another time',
    );
  });
});

describe('the rows', () => {
  it('are of the clients with most requests', () => {
    const { traffic = initialScenario().traffic } = parsePaste('0 a\n1 b\n2 c\n3 c\n4 b\n5 c', 1);

    expect(busiestClients(traffic, 3)).toEqual([0, 1, 2]);
    expect(busiestClients(traffic, 2)).toEqual([2, 1]);
  });
});

describe('a drawing', () => {
  const { answers, samples } = decided('fixedWindow', { limit: '2', window: '3s' }, [1_500, 3_000]);

  it('of what is left has a step for each change', () => {
    expect(remainingPath(samples, 0, 2, 6_000)).toBe('M0,0H250V50H500V100H750V0H1000');
  });

  it('of a limit of 0 is empty', () => {
    expect(remainingPath(samples, 0, 0, 6_000)).toBe('M0,100H1000');
    expect(remainingPath([], 0, 2, 6_000)).toBe('');
  });

  it('of requests has a stroke for each', () => {
    expect(ticksPath(answers, 6_000)).toBe('M250,0V100M500,0V100');
  });

  it('leads to the nearest request', () => {
    expect([0, 2_249, 2_251, 9_000].map((atMs) => nearest(answers, atMs))).toEqual([0, 0, 1, 1]);
    expect(nearest([], 0)).toBe(-1);
  });
});

describe('coloured code', () => {
  const code = codeOf({ ...initialScenario(), framework: 'core' });

  it('is the code', () => {
    expect(
      highlight(code)
        .map(({ text }) => text)
        .join(''),
    ).toBe(code);
  });

  it('knows words, strings, numbers, names and comments', () => {
    expect(highlight("const a = f('it\\'s', 40); // why").filter(({ kind }) => kind !== 'plain')).toEqual([
      { text: 'const', kind: 'keyword' },
      { text: 'f', kind: 'name' },
      { text: "'it\\'s'", kind: 'string' },
      { text: '40', kind: 'number' },
      { text: '// why', kind: 'comment' },
    ]);
  });

  it('knows the lines of a response', () => {
    expect(highlight('HTTP/1.1 200 OK\nRateLimit: "a";r=1', 'http').filter(({ kind }) => kind !== 'plain')).toEqual([
      { text: 'HTTP/1.1 200 OK', kind: 'keyword' },
      { text: 'RateLimit', kind: 'name' },
      { text: '"a"', kind: 'string' },
      { text: '1', kind: 'number' },
    ]);
  });
});

const both = withNames([
  { kind: 'fixedWindow', name: '', values: { limit: '2', window: '1m' } },
  { kind: 'tokenBucket', name: '', values: { capacity: '5', refill: '1', every: '1s' } },
]);
const { policies = [] } = checkedPolicies(both);
const offered = [0, 1, 2].map((atMs) => ({ atMs, client: 0, cost: 1, runsMs: 1 }));
const [first, , last] = replay(policies, offered, { spanMs: 60_000, watched: 0, shared: false }).answers as [
  Answer,
  Answer,
  Answer,
];

const fields = ({ decision }: Answer, id: string): readonly string[] =>
  HEADER_CHOICES.filter((choice) => choice.id === id).flatMap((choice) =>
    responseTo(decision, choice).fields.map(({ name, value }) => `${name}: ${value}`),
  );

describe('the response to an allowed request', () => {
  it.each([
    [
      'draft-11',
      ['RateLimit-Policy: "per-1m";q=2;w=60, "burst";q=5;w=5', 'RateLimit: "per-1m";r=1;t=60, "burst";r=4;t=1'],
    ],
    ['legacy-epoch', ['X-RateLimit-Limit: 2', 'X-RateLimit-Remaining: 1', 'X-RateLimit-Reset: 1767225660']],
  ])('has the fields of %s', (id, expected) => {
    expect(fields(first, id)).toEqual(expected);
  });

  it('is a success without a body', () => {
    expect(responseTo(first.decision, HEADER_CHOICES[0] as never)).toMatchObject({ status: '200 OK', body: undefined });
  });
});

describe('the response to a denied request', () => {
  it('is a 429 that says when to come back, and which policy denied', () => {
    const { status, body } = responseTo(last.decision, HEADER_CHOICES[0] as never);

    expect(status).toBe('429 Too Many Requests');
    expect(fields(last, 'draft-11').slice(2)).toEqual([
      'Cache-Control: no-store',
      'Retry-After: 60',
      'Content-Type: application/problem+json',
    ]);
    expect(JSON.parse(body ?? '')).toMatchObject({ status: 429, 'violated-policies': ['per-1m'] });
  });

  it('names no time where the end of a request is not known', () => {
    const { policies: slots = [] } = checkedPolicies([
      { ...newPolicy('concurrency'), values: { limit: '1', ttl: '9s' } },
    ]);
    const held = replay(
      slots,
      [0, 1].map((atMs) => ({ atMs, client: 0, cost: 1, runsMs: 5 })),
      {
        spanMs: 100,
        watched: 0,
        shared: false,
      },
    );

    expect(fields(held.answers[1] as Answer, 'draft-11').join('\n')).not.toContain('Retry-After');
  });
});
