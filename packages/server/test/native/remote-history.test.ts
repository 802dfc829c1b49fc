import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cases, freePort, seeded, startRedis, testSeed } from '@sluice/testkit';
import { checkHistory } from '../../../old-core/test/history/check-history.ts';
import { startClient, type ClientProcess } from '../../../old-core/test/history/client-process.ts';
import type { Cut, History } from '../../../old-core/test/history/history.ts';
import { planOf, policyOf } from '../../../old-core/test/history/plan.ts';
import { FrameService } from './frame-service.ts';

const REMOTE = { module: new URL('../../../remote/dist/index.js', import.meta.url).href, make: 'remoteStore' };
const CLIENTS = 3;
const RUN_MS = 2_500;
const SIGNAL_MS = 5;
/**
 * How long a call that its process has given up may wait in a service: for the connection, the script, the processor.
 */
const LATE_MS = 1_000;

const first = testSeed(1);
const seeds = Array.from({ length: cases(3) }, (_, i) => first + i);
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-remote-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Processes with limiters over two services of one Redis, all of which fail. */
async function run(seed: number): Promise<History> {
  const random = seeded(seed);
  const { keys } = planOf(seed, 0);
  const redis = await startRedis();
  const services = [new FrameService(redis, await freePort()), new FrameService(redis, await freePort())] as const;
  const clients: ClientProcess[] = [];
  const stopped: { fromMs: number; toMs: number }[] = [];
  const cuts: Cut[] = [];
  try {
    await Promise.all(services.map((service) => service.start()));
    const url = `sluice://${services.map(({ proxy }) => `127.0.0.1:${String(proxy.port)}`).join(',')}`;
    for (let number = 0; number < CLIENTS; number++) {
      clients.push(
        await startClient(number, {
          ...{ client: REMOTE, url, store: { breaker: { failures: 3, probeEveryMs: 50 } }, timeoutMs: 80 },
          ...{
            keys,
            together: 3,
            seed: seed * 100 + number,
            log: join(folder, `${String(seed)}-${String(number)}.log`),
          },
        }),
      );
    }
    const sinceMs = Date.now();
    for (const client of clients) client.begin();
    const still = async (forMs: number): Promise<void> => {
      const fromMs = Date.now() + SIGNAL_MS;
      await sleep(forMs);
      stopped.push({ fromMs, toMs: Date.now() - 1 });
    };
    const faults = [
      async (): Promise<void> => {
        redis.pause();
        await still(random.integer(100, 300));
        redis.resume();
      },
      async (): Promise<void> => {
        await redis.kill();
        cuts.push({ atMs: Date.now(), lostMs: Number(process.hrtime.bigint()) / 1e6 });
        await still(random.integer(50, 150));
        await redis.restart();
      },
      async (): Promise<void> => {
        const service = random.pick(services);
        await service.kill();
        await sleep(random.integer(0, 200));
        await service.start();
      },
      async (): Promise<void> => {
        random.pick(services).proxy.cut();
        await sleep(random.integer(20, 100));
      },
      async (): Promise<void> => {
        const { proxy } = random.pick(services);
        proxy.delay(40);
        await sleep(150);
        proxy.cut();
        await proxy.heal();
      },
    ] as const;
    const endMs = performance.now() + RUN_MS;
    while (performance.now() < endMs) {
      await sleep(random.integer(100, 350));
      await random.pick(faults)();
    }
    await Promise.all(clients.map((client) => client.stop()));
    return {
      policies: Object.fromEntries(keys.map((texts, key) => [String(key), texts.map(policyOf)])),
      ...{ sinceMs, cuts, stopped, lateMs: LATE_MS, calls: clients.flatMap((client) => client.calls()) },
    };
  } finally {
    await Promise.all(clients.map((client) => client.kill()));
    await Promise.all(services.map((service) => service.end()));
    await redis.stop();
  }
}

describe('the history of processes over two services of one Redis, while services, connections and Redis fail', () => {
  it.each(seeds)(
    'is explained in every number by policies performed one call after the other: seed %i',
    async (seed) => {
      const history = await run(seed);
      const verdict = checkHistory(history);

      expect(verdict.defects).toEqual([]);
      expect(verdict.explained).toBeGreaterThan(100);
      expect(history.calls.filter(({ end }) => end === 'answered').length).toBeGreaterThan(100);
    },
  );
});
