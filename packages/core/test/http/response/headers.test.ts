import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { fieldWriter, type HeadersOption } from '@sluice/core/http';
import { fakeClock } from '@sluice/core/testing';
import { lines, PlainResponse, sending } from '../plain-framework.ts';

const calls = fixedWindow({ name: 'calls', limit: 2, window: '60s' });
const daily = slidingWindow({ name: 'daily', limit: 1, window: '1d' });
const slots = concurrency({ name: 'in-flight', limit: 1, ttl: '30s' });

/** The fields of the response to the last of some requests, none of which has ended. */
async function fieldsOf(options: object, count = 2): Promise<string[]> {
  const send = sending({ store: memoryStore({ clock: fakeClock() }), ...options });
  const responses = Array.from({ length: count }, () => new PlainResponse());
  let last: string[] = [];
  for (const response of responses) last = lines(await send({}, response));
  for (const response of responses) response.leave();
  return last;
}

const LAST = ['Cache-Control: no-store', 'Retry-After: 86400'];

describe('the fields of several policies', () => {
  it.each<[string, HeadersOption, string[]]>([
    [
      'draft-11',
      'draft-11',
      ['RateLimit-Policy: "calls";q=2;w=60, "daily";q=1;w=86400', 'RateLimit: "calls";r=1;t=60, "daily";r=0;t=86400'],
    ],
    ['draft-7', 'draft-7', ['RateLimit-Policy: 2;w=60, 1;w=86400', 'RateLimit: limit=1, remaining=0, reset=86400']],
    [
      'draft-6',
      'draft-6',
      ['RateLimit-Limit: 1', 'RateLimit-Remaining: 0', 'RateLimit-Reset: 86400', 'RateLimit-Policy: 2;w=60, 1;w=86400'],
    ],
    [
      'legacy',
      { legacy: 'epoch' },
      ['X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 1795348801'],
    ],
  ])('are those of the deciding one in the older formats: %s', async (_name, headers, expected) => {
    expect(await fieldsOf({ policy: [calls, daily], headers })).toEqual([...expected, ...LAST]);
  });
});

describe('the fields of slots that are taken', () => {
  it.each<[string, HeadersOption, string[]]>([
    [
      'draft-11',
      'draft-11',
      ['RateLimit-Policy: "in-flight";q=1;qu="concurrent-requests"', 'RateLimit: "in-flight";r=0'],
    ],
    [
      'draft-7',
      'draft-7',
      ['RateLimit-Policy: 1;comment="concurrent-requests"', 'RateLimit: limit=1, remaining=0, reset=30'],
    ],
    ['legacy', { legacy: 'delta' }, ['X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 30']],
  ])('state no wait in %s', async (_name, headers, expected) => {
    expect(await fieldsOf({ policy: slots, headers })).toEqual([...expected, 'Cache-Control: no-store']);
  });

  it.each<[string, object, string | undefined]>([
    ['the option retryAfter', { policy: slots, retryAfter: '1500ms' }, '2'],
    ['the window that denies as well', { policy: [{ ...calls, limit: 1 }, slots] }, '60'],
    ['the longer one of both', { policy: [{ ...calls, limit: 1 }, slots], retryAfter: '2m' }, '120'],
    [
      'the window alone',
      {
        policy: [
          { ...calls, limit: 1 },
          { ...slots, limit: 9 },
        ],
        retryAfter: '2m',
      },
      '60',
    ],
    ['nothing, for a cost above the slots', { policy: slots, cost: 2, retryAfter: '1s' }, undefined],
    ['nothing, for a limit of 0', { policy: concurrency({ limit: 0, ttl: '1m' }), retryAfter: '1s' }, undefined],
  ])('have the Retry-After of %s', async (_what, options, expected) => {
    const fields = await fieldsOf({ headers: false, ...options });

    expect(fields.filter((line) => line !== 'Cache-Control: no-store')).toEqual(
      expected === undefined ? [] : [`Retry-After: ${expected}`],
    );
  });

  it('state how long a key is blocked', async () => {
    const limiter = createLimiter({ policy: slots, store: memoryStore({ clock: fakeClock() }) });
    await limiter.block('192.0.2.1', '90s');

    expect(lines(await sending({ limiter })())).toEqual([
      'RateLimit-Policy: "in-flight";q=1;qu="concurrent-requests"',
      ...['RateLimit: "in-flight";r=0;t=90', 'Cache-Control: no-store', 'Retry-After: 90'],
    ]);
  });
});

describe('the fields', () => {
  it('state no time under a limit of 0', async () => {
    expect(await fieldsOf({ policy: fixedWindow({ name: 'none', limit: 0, window: '1m' }) }, 1)).toEqual([
      ...['RateLimit-Policy: "none";q=0;w=60', 'RateLimit: "none";r=0', 'Cache-Control: no-store'],
    ]);
  });

  it('state at least a second of wait', async () => {
    const policy = tokenBucket({ name: 'fast', capacity: 1, refill: 1000, every: '1s' });

    expect((await fieldsOf({ policy })).slice(1)).toEqual([
      ...['RateLimit: "fast";r=0;t=1', 'Cache-Control: no-store', 'Retry-After: 1'],
    ]);
  });

  it('state the numbers of a policy as they are now, also after a thousand other policies', async () => {
    const plan = (limit: number, window: '1m' | '1h', name = 'plan') => fixedWindow({ name, limit, window });
    const others = Array.from({ length: 1_001 }, (_, i) => plan(1, '1m', `p${String(i)}`));
    const policies = [plan(5, '1m'), plan(7, '1m'), plan(7, '1h'), ...others, plan(7, '1h')];
    const send = sending({ policy: () => policies.shift() as Policy });

    const quotas: (string | undefined)[] = [];
    while (policies.length > 0) quotas.push((await send()).fields[0]?.value);

    expect(quotas.filter((quota) => quota?.startsWith('"plan"'))).toEqual([
      ...['"plan";q=5;w=60', '"plan";q=7;w=60', '"plan";q=7;w=3600', '"plan";q=7;w=3600'],
    ]);
  });

  it.each([
    ...[
      'draft-8',
      true,
      null,
      {},
      { legacy: 'minutes' },
      ['draft-11', 'draft-7'],
      ['draft-6', 'draft-6'],
      [['draft-11']],
    ],
  ])('are not in the format %j', (option) => {
    expect(() => fieldWriter(option as HeadersOption)).toThrow(
      /^headers must be "draft-11", "draft-7", "draft-6", \{ legacy: "epoch" \| "delta" \}, a list of these with one draft at most, or false; got ./,
    );
  });
});
