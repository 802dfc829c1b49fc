import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { startRedis, until } from '@sluice/testkit';
import { consume, get, HealthClient, post, useServe, type Serving } from './serving.ts';

const { serve, file } = useServe();
const LIMITS = 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n';

async function statusOf({ addresses }: Serving): Promise<number> {
  return (await get(addresses['http'] ?? '', '/healthcheck')).status;
}

describe('SIGTERM', () => {
  it('says NOT_SERVING and serves on, then asks clients to leave, and ends with 0', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '1s']);
    const client = new HealthClient(`http://${serving.addresses['grpc'] ?? ''}`);
    expect([await client.check(), await statusOf(serving)]).toEqual(['SERVING', 200]);
    serving.kill('SIGTERM');
    await until('health says so', async () => (await client.check()) === 'NOT_SERVING');
    const meanwhile = [client.isTold, await statusOf(serving), await consume(serving, 'login')];
    const newcomer = new HealthClient(`http://${serving.addresses['grpc'] ?? ''}`);
    const answer = await newcomer.check();

    expect([...meanwhile, answer]).toEqual([false, 500, true, 'NOT_SERVING']);
    expect(await serving.ended).toBe(0);
    expect([client.isTold, newcomer.isTold]).toEqual([true, true]);
    expect(serving.printed.err).toBe('');
  });

  it('answers what it has begun', async () => {
    const redis = await startRedis();
    try {
      const options = ['--redis', redis.url, '--timeout', '30s', '--shutdown-delay', '0'];
      const serving = await serve(['--config', file(LIMITS), ...options]);
      await consume(serving, 'login');
      redis.pause();
      const answered = consume(serving, 'login', 'other');
      await sleep(100); // on its way to Redis; if it were not, it would not be answered
      serving.kill('SIGTERM');
      await until('it takes no more', async () =>
        statusOf(serving).then(
          () => false,
          () => true,
        ),
      );
      redis.resume();

      expect(await answered).toBe(true);
      expect(await serving.ended).toBe(0);
    } finally {
      await redis.stop();
    }
  });

  it('does not wait longer than --drain for a client that stays', async () => {
    const redis = await startRedis();
    try {
      const options = ['--redis', redis.url, '--timeout', '30s', '--shutdown-delay', '0', '--drain', '300ms'];
      const serving = await serve(['--config', file(LIMITS), ...options]);
      await consume(serving, 'login');
      redis.pause();
      const answered = post(serving.addresses['http'] ?? '', '/v1/consume', { keys: { login: 'x' } }).then(
        () => 'answered',
        () => 'lost',
      );
      await sleep(100);
      serving.kill('SIGTERM');

      expect(await answered).toBe('lost');
      redis.resume();
      await serving.ended;
    } finally {
      await redis.stop();
    }
  });

  it('ends at once when it comes twice', async () => {
    const serving = await serve(['--config', file(LIMITS), '--shutdown-delay', '1h']);
    const client = new HealthClient(`http://${serving.addresses['grpc'] ?? ''}`);
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
