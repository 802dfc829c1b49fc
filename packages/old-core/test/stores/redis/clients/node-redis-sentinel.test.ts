import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSentinel } from 'redis';
import { createLimiter, fixedWindow, redisStore, type Limiter, type NodeRedisClient } from '@sluice/old-core';
import { STORE_USER, connectTo, startDeafRelay, startSentinel, until, type RedisSentinel } from '@sluice/testkit';

const script = fileURLToPath(new URL('../../../children/cut-off.mjs', import.meta.url));
const policy = fixedWindow({ limit: 1_000, window: '1h' });

let running: RedisSentinel;
beforeAll(async () => {
  running = await startSentinel();
});
afterAll(async () => {
  await running.stop();
});

// As docs/guides/redis-clients.md recommends.
const options = () => ({
  name: running.name,
  sentinelRootNodes: [...running.sentinels],
  nodeClientOptions: { username: STORE_USER.name, password: STORE_USER.password, disableOfflineQueue: true },
  maxCommandRediscovers: 0,
});

function made(): NodeRedisClient {
  const client = createSentinel(options());
  client.on('error', () => undefined);
  return client;
}

const limiterOn = (client: Parameters<typeof redisStore>[0]): Limiter =>
  createLimiter({
    policy,
    store: redisStore(client, { prefix: 'sluice', breaker: false }),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });

describe('a sentinel of node-redis 6', () => {
  it('before it was connected, is told of, and is not connected here', async () => {
    const client = made();

    await expect(limiterOn(client).consume('key')).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringMatching(/await client\.connect\(\)/) as unknown,
    });

    expect(client.isOpen).toBe(false);
  });

  it('cut off after the primary decided, does not send again what may have counted, and follows the Sentinels to another one', async () => {
    const primary = await running.primary();
    const relay = await startDeafRelay(primary);
    const direct = connectTo(primary.url);
    const onlooker = limiterOn(direct);
    const nodeAddressMap = { [`${primary.host}:${String(primary.port)}`]: { host: '127.0.0.1', port: relay.port } };
    const child = spawn(process.execPath, [script, JSON.stringify({ ...options(), nodeAddressMap })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const said = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]).trim();
    expect(await said()).toBe('decided');

    relay.loseAnswers();
    child.stdin.write('go on\n');
    await until('the primary has decided', async () => (await onlooker.peek('key')).remaining === 949);
    relay.cut();

    expect(await said()).toBe('0');
    expect((await onlooker.peek('key')).remaining).toBe(949);

    await running.killPrimary();
    child.stdin.write('go on\n');
    expect(await said()).toBe('redis');
    direct.disconnect();
    relay.close();
  });
});
