import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { redisStore, type Store } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import { METHODS, encodeRequest } from '../protocol.ts';
import { frameOf } from '../raw-call.ts';
import { descriptor, runService, type RunningService } from '../running-service.ts';

const CALLS = 20_000;
const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1000000 }
`;
const REQUEST = { domain: 'shop', descriptors: [descriptor('user=ann')] };
const redis = useRedis();

/**
 * h2load of nghttp2, which shares no code with Node's client: four connections, each with up to a hundred calls at
 * once.
 */
describe('h2load', () => {
  let folder: string;
  let service: RunningService;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-h2load-'));
    await writeFile(join(folder, 'message'), frameOf(encodeRequest(REQUEST)));
  });
  afterAll(() => rm(folder, { recursive: true }));
  afterEach(() => service.close());

  const load = async (): Promise<string> => {
    const child = spawn('h2load', [
      ...['--requests', String(CALLS), '--clients', '4', '--max-concurrent-streams', '100'],
      ...['--data', join(folder, 'message'), '--header', 'content-type: application/grpc', '--header', 'te: trailers'],
      `http://127.0.0.1:${String(service.port)}${METHODS.shouldRateLimit.path}`,
    ]);
    let printed = '';
    child.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    await once(child, 'close');
    return printed;
  };

  const stores: readonly (readonly [string, () => Store | undefined])[] = [
    ['in memory', () => undefined],
    ['on Redis', () => redisStore(redis.server.url, { prefix: 'sluice' })],
  ];
  it.each(stores)('is answered every call, and each counts once, %s', async (_name, storeOf) => {
    const store = storeOf();
    service = await runService(LIMITS, { timeoutMs: 60_000, ...(store === undefined ? {} : { store }) });
    const printed = await load();
    const { statuses } = await service.ask({ ...REQUEST, hitsAddend: 1 });

    expect(printed).toContain(`${String(CALLS)} succeeded, 0 failed, 0 errored, 0 timeout`);
    expect(printed).toContain(`${String(CALLS)} 2xx, 0 3xx, 0 4xx, 0 5xx`);
    expect(statuses?.[0]?.limitRemaining).toBe(1_000_000 - CALLS - 1);
  });
});
