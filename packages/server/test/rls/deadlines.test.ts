import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { redisStore, silenceWarnings } from '@sluice/core';
import { startRedis, startTcpProxy, until, type RedisServer, type TcpProxy } from '@sluice/testkit';
import { status } from '@grpc/grpc-js';
import { Redis } from 'ioredis';
import type { DescriptorFields, ResponseFields } from './protocol.ts';
import {
  ask as askOn,
  connect,
  descriptor,
  runService,
  makeStatus,
  type AskOptions,
  type RunningService,
} from './running-service.ts';

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
  let server: RedisServer;
  let proxy: TcpProxy;
  let client: Redis;
  let running: RunningService;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(server.storeUrl).port) });
    client = new Redis(proxy.through(server.storeUrl));
    client.on('error', () => undefined);
    running = await runService(LIMITS, {
      store: redisStore(client, { prefix: 'sluice' }),
      timeoutMs: 30_000,
      maxInFlight: 20,
      token: 'secret',
    });
    expect(sourceOf(await ask('user=before'))).toBe('redis');
  });
  afterEach(async () => {
    proxy.close();
    client.disconnect();
    await running.close();
  });

  const ask = (written: string, deadline = 60_000): Promise<ResponseFields> =>
    running.ask({ domain: 'shop', descriptors: [descriptor(written)] }, { deadline });
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

    expect(call).toMatchObject({ status: 'rejected', reason: { code: status.UNAVAILABLE } });
  });

  it('calls beyond the bound get RESOURCE_EXHAUSTED at once, and the others their answers', async () => {
    proxy.hang();
    const calls = Array.from({ length: 50 }, () => makeStatus(ask('user=many')));
    const denied = calls.slice(20);

    expect(new Set(await Promise.all(denied))).toEqual(new Set(['RESOURCE_EXHAUSTED']));
    await proxy.heal();
    expect(new Set(await Promise.all(calls.slice(0, 20)))).toEqual(new Set(['OK']));
    expect(sourceOf(await ask('user=after'))).toBe('redis');
  });

  it('a client that leaves frees its place', async () => {
    proxy.hang();
    const other = connect(running.port);
    const request = { domain: 'shop', descriptors: [descriptor('user=leaving')] };
    const calls = Array.from({ length: 20 }, () => makeStatus(askOn(other, request)));
    await until('all calls have begun', () => running.openCalls === 20);
    expect(await makeStatus(ask('user=next'))).toBe('RESOURCE_EXHAUSTED');
    other.close();
    await proxy.heal();

    await until('all places are free', async () => (await makeStatus(ask('user=next'))) === 'OK');
    expect(running.openCalls).toBe(0);
    await Promise.all(calls);
  });
});
