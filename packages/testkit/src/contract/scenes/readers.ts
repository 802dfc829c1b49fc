import { expect } from '@jest/globals';
import { createLimiter, fixedWindow, tokenBucket } from '@sluice/core';
import { parseList } from 'structured-headers';
import { exchange } from '../../raw-http.ts';
import { makeBytes } from '../connections.ts';
import { AT_THE_ROUTE, BOTH, exactly, scene, type Scene } from '../stage.ts';

/** How others read the answers, and use the limiter behind them. */
export const readers: readonly Scene[] = [
  scene('the fields are lists for an independent reader of structured fields', AT_THE_ROUTE, async (stage) => {
    const limits = [
      { name: 'Burst-1.x', policy: tokenBucket({ capacity: 2, refill: 3, every: '7s' }) },
      { name: 'per_day', policy: fixedWindow({ limit: 999_999_999_999_999, window: '1d' }) },
    ];
    const { headers } = await (await stage.serve({ limits })).send();

    const read = (field = ''): unknown =>
      Object.fromEntries(parseList(field).map(([name, parameters]) => [name, Object.fromEntries(parameters)]));

    const [burst, perDay] = [
      { q: 2, w: 5 },
      { q: 999_999_999_999_999, w: 86_400 },
    ];
    expect(read(headers['ratelimit-policy'])).toEqual({ 'Burst-1.x': burst, per_day: perDay });
    const [left, leftToday] = [
      { r: 1, t: 3 },
      { r: 999_999_999_999_998, t: 86_400 },
    ];
    expect(read(headers['ratelimit'])).toEqual({ 'Burst-1.x': left, per_day: leftToday });
  }),
  scene('a denial keeps the connection open, with the status text Too Many Requests', BOTH, async (stage) => {
    const server = await stage.serve({ policy: fixedWindow({ limit: 1, window: '1h' }) });

    const text = await exchange(server.port, makeBytes() + makeBytes('Connection: close'));

    expect(text.match(/HTTP\/1\.1 \d+ [\w ]+/g)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 429 Too Many Requests']);
  }),
  scene('an existing limiter counts with other middleware and other code that use it', BOTH, async (stage) => {
    const policy = fixedWindow({ limit: 3, window: '1h' });
    const limiter = createLimiter({ name: 'handed-in', policy, ...exactly(stage.store()) });
    const [first, second] = [await stage.serve({ limiter }), await stage.serve({ limiter })];

    const before = [...(await first.statuses(1)), ...(await second.statuses(1))];
    const direct = await limiter.consume('127.0.0.1');
    const denied = [...(await first.statuses(1)), ...(await second.statuses(1))];
    await limiter.reset('127.0.0.1');

    expect([...before, ...denied, ...(await first.statuses(1))]).toEqual([200, 200, 429, 429, 200]);
    expect(direct).toMatchObject({ allowed: true, remaining: 0 });
  }),
];
