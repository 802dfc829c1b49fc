import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { redisStore, silenceWarnings } from '@sluice/core';
import { startTcpProxy, until, useClosing, useRedis, type TcpProxy } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { GrpcClient, readStatus, type AskOptions } from './grpc-client.ts';
import type { DescriptorFields, ResponseFields } from './protocol.ts';
import { descriptor, runService, type RunningService } from './running-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: pool
    quota_mode: true
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 5 }
`;
/** Shorter than the service waits for Redis. */
const DEADLINE_MS = 1500;
silenceWarnings('SLUICE_STORE_AWAY');

describe('while Redis hangs', () => {
  const redis = useRedis();
  const closing = useClosing();
  let proxy: TcpProxy;
  let running: RunningService;
  beforeEach(async () => {
    proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
    const client = new Redis(proxy.through(redis.server.storeUrl)).on('error', () => undefined);
    const store = redisStore(client, { prefix: 'sluice' });
    running = closing(await runService(LIMITS, { store, timeoutMs: 30_000, maxInFlight: 20, token: 'secret' }));
    // Before the service, which answers what waits for Redis.
    closing(() => {
      proxy.close();
      client.disconnect();
    });
    // With a deadline: the timer for it is left by the fake ones, and keeps the process until it fires.
    const isThere = async (): Promise<boolean> => sourceOf(await ask('user=before', { grpcTimeout: '1S' })) === 'redis';
    await until('Redis decides', isThere);
  });

  const ask = (written: string, options?: AskOptions): Promise<ResponseFields> =>
    running.ask({ domain: 'shop', descriptors: [descriptor(written)] }, options);
  const sourceOf = ({ dynamicMetadata }: ResponseFields): unknown => dynamicMetadata?.fields['source']?.['stringValue'];

  /** Calls that end by the timers of the service before their deadline, which the client would wait beyond. */
  async function beforeTheirDeadline(
    calls: readonly (readonly DescriptorFields[])[],
    options: AskOptions = {},
  ): Promise<PromiseSettledResult<ResponseFields>[]> {
    proxy.hang();
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
    try {
      let ended = 0;
      const all = calls.map((descriptors) =>
        running
          .ask({ domain: 'shop', descriptors }, { ...options, grpcTimeout: `${String(DEADLINE_MS)}m` })
          .finally(() => ended++),
      );
      const settled = Promise.allSettled(all);
      await until('all calls have begun', () => running.openCalls === calls.length);
      expect(ended).toBe(0);
      await jest.advanceTimersByTimeAsync(DEADLINE_MS - 1);
      await until('all have ended', () => ended === calls.length);
      return await settled;
    } finally {
      jest.useRealTimers();
    }
  }

  async function answersBeforeTheirDeadline(
    calls: readonly (readonly DescriptorFields[])[],
  ): Promise<ResponseFields[]> {
    const settled = await beforeTheirDeadline(calls);
    return settled.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
  }

  it('a call is answered from memory before its deadline, by the same limits', async () => {
    const answers = await answersBeforeTheirDeadline(Array.from({ length: 7 }, () => [descriptor('user=hung')]));

    expect(answers.map(sourceOf)).toEqual(Array.from({ length: 7 }, () => 'local'));
    expect(answers.filter(({ overallCode }) => overallCode === 'OK')).toHaveLength(5);
  });

  it('so is one that needs several decisions', async () => {
    const look = { hitsAddend: { value: 0 } };
    const [answer] = await answersBeforeTheirDeadline([
      [
        descriptor('user=several'),
        descriptor('pool=several'),
        descriptor('watched=several'),
        descriptor('user=look', look),
      ],
    ]);

    expect(answer?.overallCode).toBe('OK');
    expect(sourceOf(answer as ResponseFields)).toBe('local');
    expect(answer?.statuses?.map(({ limitRemaining }) => limitRemaining)).toEqual([4, 4, 4, 5]);
  });

  it('a refund that Redis does not answer fails before the deadline', async () => {
    const refund = descriptor('user=refund', { hitsAddend: { value: 1 }, isNegativeHits: true });
    const [call] = await beforeTheirDeadline([[refund]], { authorization: 'Bearer secret' });

    expect(call).toMatchObject({ status: 'rejected', reason: { status: 'UNAVAILABLE' } });
  });

  it('calls beyond the bound get RESOURCE_EXHAUSTED at once, and the others their answers', async () => {
    proxy.hang();
    const calls = Array.from({ length: 50 }, () => readStatus(ask('user=many')));
    const denied = calls.slice(20);

    expect(new Set(await Promise.all(denied))).toEqual(new Set(['RESOURCE_EXHAUSTED']));
    await proxy.heal();
    expect(new Set(await Promise.all(calls.slice(0, 20)))).toEqual(new Set(['OK']));
    expect(sourceOf(await ask('user=after'))).toBe('redis');
  });

  it('a client that leaves frees its place', async () => {
    proxy.hang();
    const other = new GrpcClient(running.port);
    const request = { domain: 'shop', descriptors: [descriptor('user=leaving')] };
    const calls = Array.from({ length: 20 }, () => readStatus(other.ask(request)));
    await until('all calls have begun', () => running.openCalls === 20);
    expect(await readStatus(ask('user=next'))).toBe('RESOURCE_EXHAUSTED');
    other.close();
    await proxy.heal();

    await until('all places are free', async () => (await readStatus(ask('user=next'))) === 'OK');
    expect(running.openCalls).toBe(0);
    await Promise.all(calls);
  });
});
