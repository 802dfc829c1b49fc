import { describe, expect, it } from '@jest/globals';
import { startRedis, startTcpProxy, until } from '@sluice/testkit';
import { GrpcClient } from '../../../server/test/rls/grpc-client.ts';
import { consume, get, useServe, type Serving } from './serving.ts';

const { serve, file } = useServe();
const LIMITS = 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n';

describe('the file of limits', () => {
  it('that is wrong changes nothing, and says where it is wrong', async () => {
    const path = file(LIMITS);
    const one = await serve(['--config', path]);
    file('limits:\n  second: { fixedWindow: { limit: many, window: 1h } }\n');
    await until('it is told', () => one.printed.err.includes('the configuration is unchanged'));

    expect(one.printed.err).toContain(`${path}:2:`);
    expect(await consume(one, 'login')).toBe(true);
    expect((await get(one.addresses['admin'] ?? '', '/metrics')).body).toMatch(/config_load_error_total 1$/m);
    file(LIMITS.replace('login', 'third'));
    await until('the new limit is known', () => consume(one, 'third'));
    await until('it is told', () => one.printed.err.includes('a new configuration serves'));
  });
});

async function statusOf({ addresses }: Serving): Promise<number> {
  return (await get(addresses['http'] ?? '', '/healthcheck')).status;
}

describe('SIGTERM', () => {
  it('says NOT_SERVING and serves on', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '1h']);
    const client = new GrpcClient(`http://${serving.addresses['grpc'] ?? ''}`);
    expect([await client.check(), await statusOf(serving)]).toEqual(['SERVING', 200]);
    serving.kill('SIGTERM');
    await until('health says so', async () => (await client.check()) === 'NOT_SERVING');
    const meanwhile = [client.isTold, await statusOf(serving), await consume(serving, 'login')];
    const newcomer = new GrpcClient(`http://${serving.addresses['grpc'] ?? ''}`);

    expect([...meanwhile, await newcomer.check()]).toEqual([false, 500, true, 'NOT_SERVING']);
  });

  it('asks clients to leave after the delay, and ends with 0', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '2s']);
    const client = new GrpcClient(`http://${serving.addresses['grpc'] ?? ''}`);
    expect(await client.check()).toBe('SERVING');
    const toldAtMs = performance.now();
    serving.kill('SIGTERM');
    await until('health says so', async () => (await client.check()) === 'NOT_SERVING');
    const newcomer = new GrpcClient(`http://${serving.addresses['grpc'] ?? ''}`);
    expect(await newcomer.check()).toBe('NOT_SERVING');

    expect(await serving.ended).toBe(0);
    expect(performance.now() - toldAtMs).toBeGreaterThanOrEqual(2000);
    expect([client.isTold, newcomer.isTold]).toEqual([true, true]);
    expect(serving.printed.err).toBe('');
  });

  it('does not wait longer than --drain for a request that Redis does not answer', async () => {
    const redis = await startRedis();
    const proxy = await startTcpProxy(redis);
    try {
      const url = proxy.through(redis.url);
      const delays = ['--shutdown-delay', '0', '--drain', '300ms'];
      const serving = await serve(['--config', file(LIMITS), '--redis', url, '--timeout', '30s', ...delays]);
      await consume(serving, 'login');
      proxy.hang();
      const answered = consume(serving, 'login', 'other');
      answered.catch(() => undefined);
      await until('the request is on its way to Redis', () => proxy.heldBytes > 0);
      serving.kill('SIGTERM');

      await expect(answered).rejects.toThrow('fetch failed');
      await proxy.heal();
      await serving.ended;
    } finally {
      proxy.close();
      await redis.stop();
    }
  });

  it('ends at once when it comes twice', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '1h']);
    const client = new GrpcClient(`http://${serving.addresses['grpc'] ?? ''}`);
    serving.kill('SIGTERM');
    await until('the first has come', async () => (await client.check()) === 'NOT_SERVING');
    serving.kill('SIGTERM');

    expect(await serving.ended).toBe(1);
  });
});

describe('SIGINT', () => {
  it('ends without the delay', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '1h']);
    serving.kill('SIGINT');

    expect(await serving.ended).toBe(0);
  });
});

describe('SIGHUP', () => {
  it('reads the file', async () => {
    const serving = await serve(['--config', file(LIMITS)]);
    file(LIMITS.replace('login', 'other'));
    serving.kill('SIGHUP');

    await until('it is read', () => consume(serving, 'other'));
  });
});
