import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { describe, expect, it } from '@jest/globals';
import { redisStore, silenceWarnings } from '@sluice/core';
import { startTcpProxy, until, useClosing, useRedis } from '@sluice/testkit';
import { frameOf, readStatus } from './grpc-client.ts';
import { descriptor, runService } from './running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }]\n';
const REQUEST = { domain: 'shop', descriptors: [descriptor('user=ann')] };
silenceWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();

describe('draining', () => {
  const closing = useClosing();

  it('takes no more connections, and answers what was asked before', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(redis.server.url).port) });
    const store = redisStore(proxy.through(redis.server.url), { prefix: 'sluice' });
    const one = closing(await runService(LIMITS, { store, timeoutMs: 20_000 }));
    await one.ask(REQUEST);
    proxy.hang();
    const calls = Array.from({ length: 10 }, () => readStatus(one.ask(REQUEST)));
    await until('all calls have begun', () => one.openCalls === 10);
    const drained = one.rls.close(10_000);
    const late = connectHttp2(`http://127.0.0.1:${String(one.port)}`);
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    await proxy.heal();

    expect(new Set(await Promise.all(calls))).toEqual(new Set(['OK']));
    await drained;
    expect([error.code, one.openCalls]).toEqual(['ECONNREFUSED', 0]);
    proxy.close();
  });

  it('ends calls that take longer than its grace', async () => {
    const one = closing(await runService(LIMITS));
    const call = one.client.call({ chunks: [frameOf(Buffer.alloc(100)).subarray(0, 20)], ends: false });
    await until('the call has begun', () => one.openCalls === 1);
    await one.rls.close(50);

    expect((await call).grpcStatus).toBeUndefined();
    expect(one.openCalls).toBe(0);
  });
});
