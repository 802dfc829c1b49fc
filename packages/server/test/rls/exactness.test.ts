import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore, type Store } from '@sluice/core';
import { cases, seeded, testSeed, useRedis } from '@sluice/testkit';
import type { Client } from '@grpc/grpc-js';
import type { DescriptorFields } from './protocol.ts';
import { ask, connect, descriptor, runService, type RunningService } from './running-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 50 }
  - key: path
    rate_limit: { unit: day, requests_per_unit: 80 }
  - key: tenant
    sluice: { slidingLog: { limit: 120, window: 1d } }
  - key: pool
    quota_mode: true
    rate_limit: { unit: day, requests_per_unit: 40 }
`;
const LIMIT_OF: Readonly<Record<string, number>> = { user: 50, path: 80, tenant: 120, pool: 40 };
const redis = useRedis();
let runs = 0;

describe.each([
  ['memory', 1],
  ['Redis', 3],
])('replicas on %s', (name, replicas) => {
  let running: RunningService[] = [];
  let clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients) client.close();
    await Promise.all(running.map((one) => one.close()));
  });

  it('never allow more than the limits, and take all of a request or nothing', async () => {
    const random = seeded(testSeed(19));
    const prefix = `exact${String(++runs)}:`;
    const storeOf = (): Store => (name === 'memory' ? memoryStore() : redisStore(redis.server.url, { prefix }));
    running = await Promise.all(
      Array.from({ length: replicas }, () => runService(LIMITS, { store: storeOf(), timeoutMs: 60_000 })),
    );
    clients = running.flatMap(({ port }) => [connect(port), connect(port)]);
    const allowed = new Map<string, number>();
    const total = cases(800);
    let allowedRequests = 0;

    const worker = async (client: Client): Promise<void> => {
      for (let i = 0; i < total / clients.length; i++) {
        const subjects = ['user', 'path', 'tenant', 'pool', 'pool']
          .filter(() => random.percent(45))
          .map((key) => `${key}=${String(random.integer(1, 3))}`);
        if (subjects.length === 0) continue;
        const hits = random.integer(1, 3);
        const descriptors: DescriptorFields[] = subjects.map((one) => descriptor(one, { hitsAddend: { value: hits } }));
        const { overallCode, statuses = [] } = await ask(client, { domain: 'shop', descriptors });
        if (overallCode !== 'OK') continue;
        allowedRequests++;
        subjects.forEach((subject, at) => {
          if (statuses[at]?.code === 'OK') allowed.set(subject, (allowed.get(subject) ?? 0) + hits);
        });
      }
    };
    await Promise.all(clients.flatMap((client) => [worker(client), worker(client)]));

    // What is left of each limit is what was not allowed: nothing was taken for a request that was denied.
    for (const [subject, count] of allowed) {
      const limit = LIMIT_OF[subject.split('=')[0] ?? ''] as number;
      const look = descriptor(subject, { hitsAddend: { value: 0 } });
      const { statuses } = await ask(clients[0] as Client, { domain: 'shop', descriptors: [look] });

      expect(count).toBeLessThanOrEqual(limit);
      expect([subject, statuses?.[0]?.limitRemaining ?? 0]).toEqual([subject, limit - count]);
    }
    expect(allowedRequests).toBeGreaterThan(0);
  });
});
