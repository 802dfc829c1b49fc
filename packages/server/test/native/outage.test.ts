import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, type Decision, type Limiter, type OnStoreError } from '@sluice/old-core';
import { remoteStore, type RemoteStore } from '@sluice/remote';
import { freePort, startRedis, until, type RedisServer } from '@sluice/testkit';
import { FrameService } from './frame-service.ts';

const TIMEOUT_MS = 300;
/** A decision that takes longer is one that hangs, however busy the machine is. */
const HANGS_MS = 5_000;

let redis: RedisServer;
let service: FrameService;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  redis = await startRedis();
  service = new FrameService(redis, await freePort());
  await service.start();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(async () => {
  await service.end();
  await redis.stop();
});

let names = 0;
function limiterOf(store: RemoteStore, onStoreError: OnStoreError): Limiter {
  const limiter = createLimiter({
    ...{ name: `outage-${String(names++)}`, policy: fixedWindow({ limit: 1_000, window: '1h' }) },
    ...{ store, onStoreError, timeoutMs: TIMEOUT_MS, denialCache: false },
  });
  open.push(limiter);
  return limiter;
}

/** What a request comes to: the source of its decision, or what `onStoreError` has made of the failure. */
async function outcomeOf(limiter: Limiter): Promise<string> {
  const startMs = performance.now();
  const outcome = await limiter.consume('key').then(
    ({ source, outcome: how, allowed }: Decision) =>
      how === 'unavailable' ? (allowed ? 'let pass' : 'denied') : source,
    (error: unknown) => (error as { name: string }).name,
  );
  return performance.now() - startMs < HANGS_MS ? outcome : 'hung';
}

const FAILED: Readonly<Record<OnStoreError, string>> = {
  local: 'local',
  allow: 'let pass',
  deny: 'denied',
  throw: 'StoreError',
};
const MODES = Object.keys(FAILED) as OnStoreError[];

describe('while a limiter over a service has no store', () => {
  it.each<[string, () => unknown, () => unknown]>([
    [
      'the service is stopped',
      () => {
        service.pause();
      },
      () => {
        service.resume();
      },
    ],
    ['the service is killed', () => service.kill(), () => service.start()],
    [
      'its connections are reset, and no new ones made',
      () => {
        service.proxy.deny();
        service.proxy.cut();
      },
      () => service.proxy.heal(),
    ],
    [
      'nothing comes through',
      () => {
        service.proxy.hang();
      },
      () => service.proxy.heal(),
    ],
    [
      'the Redis behind it is stopped',
      () => {
        redis.pause();
      },
      () => {
        redis.resume();
      },
    ],
    ['the Redis behind it is killed', () => redis.kill(), () => redis.restart()],
  ])('%s: onStoreError decides, none hangs, and the service decides again afterwards', async (_what, begin, end) => {
    const store = remoteStore(`sluice://127.0.0.1:${String(service.proxy.port)}`, {
      breaker: { failures: 5, probeEveryMs: 50 },
    });
    open.push(store);
    const limiters = new Map(MODES.map((mode) => [mode, limiterOf(store, mode)]));
    for (const limiter of limiters.values()) expect(await outcomeOf(limiter)).toBe('remote');
    await begin();
    const seen = await Promise.all(
      [...limiters].map(async ([mode, limiter]) => {
        const outcomes = new Set<string>();
        for (let i = 0; i < 20; i++) outcomes.add(await outcomeOf(limiter));
        return [mode, [...outcomes]] as const;
      }),
    );
    await end();

    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(MODES.map((mode) => [mode, [FAILED[mode]]])));
    for (const limiter of limiters.values()) {
      await until('the service decides again', async () => (await outcomeOf(limiter)) === 'remote');
    }
  });
});
