import { startRedis, until, type RedisServer } from '@sluice/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { byWindow, Client, statuses, type Answer, type WindowCount } from './client.ts';
import { System } from './system.ts';

/** For tests with many requests, which are slow on a busy machine. */
const LONG_MS = 300_000;
const LIMIT = 100;
const WINDOW_MS = 3000; // so long that a slow machine sends enough in it
const PAUSE_MS = 40;
const ENOUGH = 3 * LIMIT;
const SHARES = { 'gateway-1': 60, 'gateway-2': 20, 'gateway-3': 20 };
// Longer than the grace time, after which shares grow.
const SETTLING_WINDOWS = 2;

let redis: RedisServer;
let system: System;
let client: Client;

beforeAll(async () => {
  redis = await startRedis();
  const args = [
    '--store',
    'split',
    '--weights',
    '3,1,1',
    '--limit',
    String(LIMIT),
    '--window',
    `${String(WINDOW_MS)}ms`,
  ];
  system = await System.start('--redis', redis.url, ...args);
  client = new Client(system.port, 16);
});

afterAll(async () => {
  client.close();
  await system.stop();
  await redis.stop();
});

/** Sends, and regularly checks the complete windows. */
async function sendUntil(isDone: (windows: readonly WindowCount[], answers: readonly Answer[]) => boolean): Promise<{
  answers: readonly Answer[];
  windows: readonly WindowCount[];
}> {
  let done = false;
  let nextCheckAt = 200;
  const check = (soFar: readonly Answer[]): boolean => {
    if (soFar.length >= nextCheckAt && !done) {
      nextCheckAt = soFar.length + 200;
      done = isDone(wholeWindows(soFar), soFar);
    }
    return done;
  };
  const answers = await client.sendUntil('/orders', check, PAUSE_MS);
  return { answers, windows: wholeWindows(answers) };
}

function wholeWindows(answers: readonly Answer[]): readonly WindowCount[] {
  return byWindow(answers, WINDOW_MS).slice(1, -1);
}

const isBusy = ({ offered }: WindowCount): boolean => offered >= ENOUGH;
const isUsedUp = ({ allowed }: WindowCount): boolean => allowed >= 0.95 * LIMIT;

describe('three gateways that get 3:1:1 of the traffic and have 3:1:1 of the limit', () => {
  let answers: readonly Answer[];
  let windows: readonly WindowCount[];

  beforeAll(async () => {
    ({ answers, windows } = await sendUntil((seen) => seen.slice(SETTLING_WINDOWS).filter(isBusy).length >= 3));
  }, LONG_MS);

  it('allow together no more than the limit in any window, and all but at most 5 % of it', () => {
    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
    expect(windows.filter(({ allowed }) => allowed > LIMIT)).toEqual([]);
    expect(windows.slice(SETTLING_WINDOWS).filter((window) => isBusy(window) && !isUsedUp(window))).toEqual([]);
  });

  it.each(Object.entries(SHARES))('send and allow by their weights: %s', (gateway, share) => {
    const own = answers.filter(({ headers }) => headers['x-gateway'] === gateway);

    expect(Math.abs(own.length / answers.length - share / LIMIT)).toBeLessThan(0.03);
    expect(wholeWindows(own).filter(({ allowed }) => allowed > share)).toEqual([]);
  });

  it('send no request to Redis', () => {
    expect(new Set(answers.map(({ headers }) => headers['x-counted-in']))).toEqual(new Set(['split']));
  });

  it('report the whole limit to the client', async () => {
    const { headers } = await client.send('/catalog');

    expect(headers['ratelimit-policy']).toBe(`"catalog";q=${String(LIMIT)};w=${String(WINDOW_MS / 1000)}`);
  });

  it('store nothing of a client in Redis', async () => {
    const admin = new Redis(redis.url);

    expect(await admin.keys('*')).toEqual([expect.stringContaining('members')]);
    admin.disconnect();
  });
});

describe('a gateway that is killed under load, and started again', () => {
  it(
    'leaves no request without a response, and allows again once it has its share: together never more than the limit',
    async () => {
      process.kill(system.pidOf('gateway-1'), 'SIGKILL');
      const { answers, windows } = await sendUntil((seen, soFar) => {
        const itsOwn = soFar.filter(({ status, headers }) => status === 200 && headers['x-gateway'] === 'gateway-1');
        const since = byWindow(itsOwn, WINDOW_MS)[0]?.window ?? Infinity;
        return seen.some((each) => each.window >= since && isUsedUp(each));
      });

      expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
      expect(windows.filter(({ allowed }) => allowed > LIMIT)).toEqual([]);
    },
    LONG_MS,
  );
});

describe('while Redis is away', () => {
  it('each gateway allows its part by itself, and its share again afterwards', async () => {
    await redis.kill();
    await until('all count for themselves', async () => {
      const seen = await client.sendMany(20, '/catalog');
      return seen.every(({ headers }) => headers['x-counted-in'] === 'local');
    });
    const { answers, windows } = await sendUntil((seen) => seen.some(isBusy));

    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
    expect(windows.filter(({ allowed }) => allowed > LIMIT)).toEqual([]);

    await redis.restart();
    await until('all have their shares', async () => {
      const seen = await client.sendMany(20, '/catalog');
      return seen.every(({ headers }) => headers['x-counted-in'] === 'split');
    });
  });
});
