import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer, type RunningServer } from '../../../src/index.ts';
import { ask, connect, descriptor } from '../running-service.ts';
import { send } from './json-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 5 } }]\n';

describe('the http listener of a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-json-'));
  let server: RunningServer;
  beforeAll(async () => {
    writeFileSync(join(folder, 'limits.yaml'), LIMITS);
    const config = join(folder, 'limits.yaml');
    server = await createServer({ config, grpc: 0, http: 0, admin: 0, timeoutMs: 5_000 });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const portOf = (name: 'grpc' | 'http' | 'admin'): number => Number(server.addresses[name]?.split(':').at(-1));

  it('has /json, which decides and counts as the gRPC listener does, limits of requests among them', async () => {
    const limit = { requestsPerUnit: 3, unit: 4 };
    const client = connect(portOf('grpc'));
    const own = { domain: 'shop', descriptors: [descriptor('user=ann', { limit })] };
    for (let i = 0; i < 2; i++) await ask(client, own);
    const statuses: number[] = [];
    for (let i = 0; i < 2; i++) {
      statuses.push((await send(portOf('http'), { body: JSON.stringify(own) })).status);
    }
    const plain = { domain: 'shop', descriptors: [descriptor('user=bob')] };
    await ask(client, plain);
    await send(portOf('http'), { body: JSON.stringify(plain) });
    client.close();
    const stats = await (await fetch(`http://127.0.0.1:${String(portOf('admin'))}/metrics`)).text();

    expect(statuses).toEqual([200, 429]);
    expect(stats).toMatch(/^sluice_rule_total_hits_total\{rule="override"\} 4$/m);
    expect(stats).toMatch(/^sluice_rule_over_limit_total\{rule="override"\} 1$/m);
    expect(stats).toMatch(/^sluice_rule_within_limit_total\{rule="shop.user"\} 2$/m);
  });
});
