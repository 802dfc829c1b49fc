import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { fixedWindow, type IoredisClient } from '@sluice/old-core';
import { connectTo, startRedis, STORE_USER, tlsFixture, type RedisServer } from '@sluice/testkit';
import { closeAll, keep, limiterOn, outcomeOf } from './ways.ts';

const { ca, caFile } = tlsFixture;
const strict = { policy: fixedWindow({ limit: 10, window: '1h' }), onStoreError: 'throw', timeoutMs: 10_000 } as const;

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedis([], { tls: true });
  admin = connectTo(server.url, { tls: { ca } });
});
beforeEach(async () => {
  await admin.flushall();
});
afterEach(closeAll);
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

describe('a server that speaks TLS', () => {
  it.each<[string, () => IoredisClient]>([
    ['ioredis 6', () => keep(new Redis(server.storeUrl, { tls: { ca } }))],
    ['ioredis 5', () => keep(new Redis5(server.storeUrl, { tls: { ca } }))],
  ])('decides through %s that trusts its certificate', async (_name, connect) => {
    expect(await outcomeOf(limiterOn(connect(), strict))).toBe('redis: allowed');
  });

  it('is rejected through a URL when its certificate is not trusted', async () => {
    expect(await outcomeOf(limiterOn(server.storeUrl, strict))).toBe('connection');

    expect(await admin.dbsize()).toBe(0);
  });

  it('decides by a URL when the process trusts its certificate', async () => {
    const { stdout, code } = await consumeInChild({ NODE_EXTRA_CA_CERTS: caFile });

    expect([stdout, code]).toEqual(['redis 9\n', 0]);
  });

  it('accepts the user of the URL', async () => {
    const limiter = limiterOn(keep(new Redis(server.storeUrl, { tls: { ca } })), strict);
    await limiter.consume('key');

    const clients = String(await admin.client('LIST'))
      .trim()
      .split('\n');

    expect(clients.filter((line) => line.includes(` user=${STORE_USER.name} `))).toHaveLength(1);
  });
});

/** A process that consumes a unit of a limit of ten, through the built package. */
async function consumeInChild(env: Record<string, string>): Promise<{ stdout: string; code: number | null }> {
  const script = fileURLToPath(new URL('../children/consume-by-url.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, server.storeUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let stdout = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { stdout, code };
}
