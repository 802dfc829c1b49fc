import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { redisStore, silenceWarnings } from '@sluice/core';
import { startRedis, until, type RedisServer } from '@sluice/testkit';
import type { ResponseFields } from './protocol.ts';
import { descriptor, runService, type RunningService } from './running-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: log
    sluice: { slidingLog: { limit: 5, window: 1d } }
  - key: bucket
    sluice: { tokenBucket: { capacity: 5, refill: 1, every: 1d } }
`;
const KEYS = ['user', 'log', 'bucket'];
/** Far more than any call of a healthy server takes, also on a busy machine. */
const TIMEOUT_MS = 1_000;
silenceWarnings('SLUICE_STORE_AWAY');

interface Fault {
  fail(server: RedisServer): Promise<void>;
  heal(server: RedisServer): Promise<void>;
  /** What is left of 5 after 2 before the fault, some in it, and 1 after it. */
  readonly left: readonly number[];
}

const FAULTS: Readonly<Record<string, Fault>> = {
  // Still has what it counted before, and may count what was sent meanwhile.
  'is stopped': {
    fail: (server) =>
      Promise.resolve(server).then((one) => {
        one.pause();
      }),
    heal: (server) =>
      Promise.resolve(server).then((one) => {
        one.resume();
      }),
    left: [0, 1, 2],
  },
  // Begins again.
  'is killed': { fail: (server) => server.kill(), heal: (server) => server.restart(), left: [4] },
};

describe.each(Object.entries(FAULTS))('while Redis %s', (_how, { fail, heal, left }) => {
  let server: RedisServer;
  let service: RunningService;
  beforeEach(async () => {
    server = await startRedis();
    service = await runService(LIMITS, {
      store: redisStore(server.storeUrl, { prefix: 'sluice' }),
      timeoutMs: TIMEOUT_MS,
    });
    await until('Redis decides', async () => sourceOf(await ask('user=before')) === 'redis');
  });
  afterEach(async () => {
    await service.close();
    await server.stop();
  });
  const ask = (...written: string[]): Promise<ResponseFields> =>
    service.ask({ domain: 'shop', descriptors: written.map((one) => descriptor(one)) }, { deadline: 60_000 });
  const sourceOf = ({ dynamicMetadata }: ResponseFields): unknown => dynamicMetadata?.fields['source']?.['stringValue'];

  it('every call is answered from memory, by the same limits, and few of them wait', async () => {
    await fail(server);
    const allowed = new Map<string, number>();
    let waited = 0;
    const worker = async (): Promise<void> => {
      for (let i = 0; i < 60; i++) {
        const key = `${KEYS[i % KEYS.length] as string}=x`;
        const startedAt = performance.now();
        const answer = await ask(key);
        if (performance.now() - startedAt >= TIMEOUT_MS) waited++;
        expect(sourceOf(answer)).toBe('local');
        if (answer.overallCode === 'OK') allowed.set(key, (allowed.get(key) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 10 }, worker));

    expect(Object.fromEntries(allowed)).toEqual(Object.fromEntries(KEYS.map((key) => [`${key}=x`, 5])));
    // Those that were on their way, and probes: the circuit breaker answers the others at once.
    expect(waited).toBeLessThan(100);
    await heal(server);
  });

  it('several limits of a call are decided together, and none of a denied call is taken', async () => {
    for (let i = 0; i < 2; i++) await ask('log=y', 'bucket=y');
    await fail(server);
    for (let i = 0; i < 5; i++) expect((await ask('user=y')).overallCode).toBe('OK');
    for (let i = 0; i < 3; i++) expect((await ask('user=y', 'log=y', 'bucket=y')).overallCode).toBe('OVER_LIMIT');
    const { statuses } = await ask('log=y', 'bucket=y');

    expect(statuses?.map(({ limitRemaining }) => limitRemaining)).toEqual([4, 4]);
    await heal(server);
  });

  it('and again once it answers, decisions are shared', async () => {
    for (let i = 0; i < 2; i++) await ask('user=z');
    await fail(server);
    for (let i = 0; i < 2; i++) await ask('user=z');
    await heal(server);
    await until('Redis decides', async () => sourceOf(await ask('user=probe')) === 'redis');

    const { statuses } = await ask('user=z');
    expect(left).toContain(statuses?.[0]?.limitRemaining ?? 0);
  });
});
