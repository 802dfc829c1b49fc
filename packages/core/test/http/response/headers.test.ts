import { describe, expect, it } from '@jest/globals';
import { concurrency, fixedWindow, memoryStore, tokenBucket } from '@sluice/core';
import { fieldWriter, type HeadersOption } from '@sluice/core/http';
import { fakeClock } from '@sluice/core/testing';
import { lines, PlainResponse, sending } from '../plain-framework.ts';

const calls = fixedWindow({ name: 'calls', limit: 2, window: '60s' });
const daily = fixedWindow({ name: 'daily', limit: 1, window: '1d' });
const slots = concurrency({ name: 'slots', limit: 1, ttl: '30s' });
const DAY = ['Cache-Control: no-store', 'Retry-After: 86400'];

/** The fields of the second of two requests, neither of which has ended. */
async function fieldsOf(options: object): Promise<string[]> {
  const send = sending({ store: memoryStore({ clock: fakeClock() }), ...options });
  const responses = [new PlainResponse(), new PlainResponse()];
  const plans = [];
  for (const response of responses) plans.push(lines(await send({}, response)));
  for (const response of responses) response.leave();
  return plans[1] ?? [];
}

describe('the fields', () => {
  it.each<[HeadersOption, ...string[]]>([
    [
      'draft-11',
      'RateLimit-Policy: "calls";q=2;w=60, "daily";q=1;w=86400',
      'RateLimit: "calls";r=1;t=60, "daily";r=0;t=86400',
    ],
    ['draft-7', 'RateLimit-Policy: 2;w=60, 1;w=86400', 'RateLimit: limit=1, remaining=0, reset=86400'],
    [
      'draft-6',
      'RateLimit-Limit: 1',
      'RateLimit-Remaining: 0',
      'RateLimit-Reset: 86400',
      'RateLimit-Policy: 2;w=60, 1;w=86400',
    ],
    [{ legacy: 'epoch' }, 'X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 1795348801'],
  ])('of several policies in %j state all, or the deciding one', async (headers, ...expected) => {
    expect(await fieldsOf({ policy: [calls, daily], headers })).toEqual([...expected, ...DAY]);
  });

  it('of a bucket state when the next unit comes, and all in whole seconds, rounded up', async () => {
    const bucket = tokenBucket({ name: 'bucket', capacity: 10, refill: 10, every: '60s' });

    expect(await fieldsOf({ policy: [bucket, fixedWindow({ name: 'odd', limit: 5, window: 1500 })] })).toEqual([
      'RateLimit-Policy: "bucket";q=10;w=60, "odd";q=5;w=2',
      'RateLimit: "bucket";r=8;t=6, "odd";r=3;t=2',
    ]);
  });

  it.each<[HeadersOption, ...string[]]>([
    ['draft-11', 'RateLimit-Policy: "slots";q=1;qu="concurrent-requests"', 'RateLimit: "slots";r=0'],
    ['draft-7', 'RateLimit-Policy: 1;comment="concurrent-requests"', 'RateLimit: limit=1, remaining=0, reset=30'],
    [{ legacy: 'delta' }, 'X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 30'],
  ])('of slots in %j state no wait', async (headers, ...expected) => {
    expect(await fieldsOf({ policy: slots, headers })).toEqual([...expected, 'Cache-Control: no-store']);
  });

  it.each<[string, object, string[]]>([
    ['the option retryAfter', { policy: slots, retryAfter: '1500ms' }, ['2']],
    ['a window that denies as well', { policy: [daily, slots] }, ['86400']],
    ['the longer one of both', { policy: [daily, slots], retryAfter: '2d' }, ['172800']],
    ['the window alone', { policy: [daily, { ...slots, limit: 9 }], retryAfter: '2d' }, ['86400']],
    ['nothing, for a cost above the slots', { policy: slots, cost: 2, retryAfter: '1s' }, []],
    ['nothing, for no slots at all', { policy: { ...slots, limit: 0 }, retryAfter: '1s' }, []],
    ['nothing, for a limit of 0', { policy: fixedWindow({ limit: 0, window: '1m' }) }, []],
  ])('of missing slots have the Retry-After of %s', async (_what, options, expected) => {
    const fields = await fieldsOf({ headers: false, ...options });

    expect(fields).toEqual(['Cache-Control: no-store', ...expected.map((seconds) => `Retry-After: ${seconds}`)]);
  });

  it.each(['draft-8', true, null, {}, { legacy: 'minutes' }, ['draft-11', 'draft-7'], ['draft-6', 'draft-6']])(
    'are not in the format %j',
    (option) => {
      expect(() => fieldWriter(option as HeadersOption)).toThrow(/^headers must be "draft-11", .* or false; got ./);
    },
  );
});
