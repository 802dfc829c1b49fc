import { describe, expect, it } from '@jest/globals';
import {
  HEADER_CHOICES,
  checkedPolicies,
  newPolicy,
  replay,
  responseTo,
  withNames,
  type Answer,
} from '../src/index.ts';

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
    ['draft-7', ['RateLimit-Policy: 2;w=60, 5;w=5', 'RateLimit: limit=2, remaining=1, reset=60']],
    [
      'draft-6',
      ['RateLimit-Limit: 2', 'RateLimit-Remaining: 1', 'RateLimit-Reset: 60', 'RateLimit-Policy: 2;w=60, 5;w=5'],
    ],
    ['legacy-epoch', ['X-RateLimit-Limit: 2', 'X-RateLimit-Remaining: 1', 'X-RateLimit-Reset: 1767225660']],
    ['legacy-delta', ['X-RateLimit-Limit: 2', 'X-RateLimit-Remaining: 1', 'X-RateLimit-Reset: 60']],
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
