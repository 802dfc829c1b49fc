import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow, tokenBucket } from '@sluice/old-core';
import type { HeadersOption } from '@sluice/old-http';
import { fieldWriter } from '@sluice/old-http/spi';
import { fakeClock, memory, realRedis, lines, testEnforcer } from '@sluice/testkit';

// The vectors of docs: their clock reads 2026-11-21T12:00:00.250Z, which is where fakeClock() begins.
const NOON_MS = 1_795_262_400_000;
const SECOND_MS = 1_000;

describe.each([memory, realRedis()])('the header fields over $kind', (stores) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  it('tell of the first request of a window (V1)', async () => {
    const clock = fakeClock();
    const enforce = testEnforcer({
      policy: fixedWindow({ limit: 100, window: '60s' }),
      store: stores.store(clock),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const answer = await enforce();

    expect(answer.denial).toBeUndefined();
    expect(lines(answer)).toEqual(['RateLimit-Policy: "default";q=100;w=60', 'RateLimit: "default";r=99;t=60']);
  });

  it.each<[HeadersOption, string[]]>([
    [
      'draft-6',
      ['RateLimit-Limit: 100', 'RateLimit-Remaining: 99', 'RateLimit-Reset: 60', 'RateLimit-Policy: 100;w=60'],
    ],
    ['draft-7', ['RateLimit-Policy: 100;w=60', 'RateLimit: limit=100, remaining=99, reset=60']],
    [{ legacy: 'epoch' }, ['X-RateLimit-Limit: 100', 'X-RateLimit-Remaining: 99', 'X-RateLimit-Reset: 1795262461']],
    [{ legacy: 'delta' }, ['X-RateLimit-Limit: 100', 'X-RateLimit-Remaining: 99', 'X-RateLimit-Reset: 60']],
    [
      ['draft-11', { legacy: 'delta' }],
      [
        'RateLimit-Policy: "default";q=100;w=60',
        'RateLimit: "default";r=99;t=60',
        'X-RateLimit-Limit: 100',
        'X-RateLimit-Remaining: 99',
        'X-RateLimit-Reset: 60',
      ],
    ],
    [false, []],
    [[], []],
  ])('tell of the same request in the dialect %j (V1)', async (headers, expected) => {
    const policy = fixedWindow({ limit: 100, window: '60s' });
    const enforce = testEnforcer({
      policy,
      headers,
      store: stores.store(fakeClock()),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const answer = await enforce();

    expect(lines(answer)).toEqual(expected);
  });

  it('tell of the last unit without Retry-After (V2), and of the denial after it (V3)', async () => {
    const clock = fakeClock(NOON_MS + 29_400);
    const policy = fixedWindow({ limit: 100, window: '60s', align: 'clock' });
    let cost = 99;
    const enforce = testEnforcer({
      policy,
      cost: () => cost,
      store: stores.store(clock),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    await enforce();
    cost = 1;

    const last = await enforce();
    const denied = await enforce();

    expect(last.denial).toBeUndefined();
    expect(lines(last)).toEqual(['RateLimit-Policy: "default";q=100;w=60', 'RateLimit: "default";r=0;t=31']);
    expect(lines(denied)).toEqual([
      'RateLimit-Policy: "default";q=100;w=60',
      'RateLimit: "default";r=0;t=31',
      'Cache-Control: no-store',
      'Retry-After: 31',
    ]);
    expect(denied.denial).toMatchObject({
      status: 429,
      contentType: 'application/problem+json',
      body: '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"The limit default is used up. Try again in 31 seconds.","violated-policies":["default"]}',
    });
  });

  it('say 1 and never 0 a millisecond before the window ends (V3)', async () => {
    const clock = fakeClock(NOON_MS + 59_999);
    const policy = fixedWindow({ limit: 1, window: '60s', align: 'clock' });
    const enforce = testEnforcer({ policy, store: stores.store(clock), onStoreError: 'throw', timeoutMs: 60_000 });
    await enforce();

    const denied = await enforce();

    expect(lines(denied)).toEqual([
      'RateLimit-Policy: "default";q=1;w=60',
      'RateLimit: "default";r=0;t=1',
      'Cache-Control: no-store',
      'Retry-After: 1',
    ]);
  });

  it('tell of two policies in one list each (V4)', async () => {
    const clock = fakeClock(NOON_MS + 250 - SECOND_MS);
    const policy = [
      fixedWindow({ name: 'burst', limit: 10, window: '1s' }),
      fixedWindow({ name: 'daily', limit: 1000, window: '1d', align: 'clock' }),
    ];
    const enforce = testEnforcer({ policy, store: stores.store(clock), onStoreError: 'throw', timeoutMs: 60_000 });
    await enforce();
    clock.advance(SECOND_MS);
    for (let i = 0; i < 5; i++) await enforce();

    const sixth = await enforce();

    expect(lines(sixth)).toEqual([
      'RateLimit-Policy: "burst";q=10;w=1, "daily";q=1000;w=86400',
      'RateLimit: "burst";r=4;t=1, "daily";r=993;t=43200',
    ]);
  });

  it('name the policy that denied, and the longest wait of those (V5)', async () => {
    const clock = fakeClock(NOON_MS + 250 - 100 * SECOND_MS);
    const policy = [
      fixedWindow({ name: 'burst', limit: 10, window: '1s' }),
      fixedWindow({ name: 'daily', limit: 1000, window: '1d', align: 'clock' }),
    ];
    let cost = 10;
    const enforce = testEnforcer({
      policy,
      cost: () => cost,
      store: stores.store(clock),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    for (let second = 0; second < 100; second++) {
      cost = second === 99 ? 9 : 10;
      await enforce();
      clock.advance(SECOND_MS);
    }
    cost = 1;
    await enforce();

    const denied = await enforce();

    expect(lines(denied)).toEqual([
      'RateLimit-Policy: "burst";q=10;w=1, "daily";q=1000;w=86400',
      'RateLimit: "burst";r=9;t=1, "daily";r=0;t=43200',
      'Cache-Control: no-store',
      'Retry-After: 43200',
    ]);
    expect(denied.denial?.status).toBe(429);
    expect(JSON.parse(denied.denial?.body ?? '')).toMatchObject({ 'violated-policies': ['daily'] });
  });

  it('tell of a bucket by its capacity, the seconds that fill it, and the wait for one more unit (V6)', async () => {
    const clock = fakeClock();
    const policy = tokenBucket({ capacity: 10, refill: 10, every: '60s' });
    const enforce = testEnforcer({
      name: 'api',
      policy,
      store: stores.store(clock),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const answers = [];
    for (let i = 0; i < 11; i++) answers.push(await enforce());
    clock.advance(250);
    answers.push(await enforce());
    clock.advance(5_750);
    answers.push(await enforce());

    const quota = 'RateLimit-Policy: "api";q=10;w=60';
    const empty = 'RateLimit: "api";r=0;t=6';
    const denial = ['Cache-Control: no-store', 'Retry-After: 6'];
    const [first, , , , , , , , , tenth, eleventh, later, afterSixSeconds] = answers.map(lines);
    expect(first).toEqual([quota, 'RateLimit: "api";r=9;t=6']);
    expect(tenth).toEqual([quota, empty]);
    expect(eleventh).toEqual([quota, empty, ...denial]);
    expect(later).toEqual([quota, empty, ...denial]);
    expect(afterSixSeconds).toEqual([quota, empty]);
  });

  it.each([
    ['500ms', '"fast";q=5;w=1'],
    ['1500ms', '"fast";q=5;w=2'],
  ] as const)('round a window of %s up to whole seconds (V16)', async (window, quota) => {
    const policy = fixedWindow({ limit: 5, window });
    const enforce = testEnforcer({
      name: 'fast',
      policy,
      store: stores.store(fakeClock()),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const answer = await enforce();

    expect(lines(answer)[0]).toBe(`RateLimit-Policy: ${quota}`);
  });

  it('say nothing below zero after a limit was lowered under what is used (V17)', async () => {
    const store = stores.store(fakeClock());
    const before = testEnforcer({
      policy: fixedWindow({ limit: 200, window: '60s' }),
      cost: 120,
      store,
      shared: true,
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    const after = testEnforcer({
      policy: fixedWindow({ limit: 100, window: '60s' }),
      store,
      shared: true,
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });
    await before();

    const denied = await after();

    expect(lines(denied)).toContain('RateLimit: "default";r=0;t=60');
  });

  it('leave Retry-After out when no wait would help', async () => {
    const policy = fixedWindow({ limit: 5, window: '60s' });
    const enforce = testEnforcer({
      policy,
      cost: 6,
      store: stores.store(fakeClock()),
      onStoreError: 'throw',
      timeoutMs: 60_000,
    });

    const denied = await enforce();

    expect(lines(denied)).toEqual([
      'RateLimit-Policy: "default";q=5;w=60',
      'RateLimit: "default";r=5',
      'Cache-Control: no-store',
    ]);
  });
});

describe('the option headers', () => {
  it.each([['draft-12'], [null], [true], [{ legacy: 'seconds' }], [['draft-11', 'draft-7']], [['draft-11', false]]])(
    'denies %j, naming the formats',
    (headers) => {
      expect(() => fieldWriter(headers as HeadersOption)).toThrow(
        /^headers must be "draft-11", "draft-7", "draft-6", \{ legacy: .*; got /,
      );
    },
  );
});
