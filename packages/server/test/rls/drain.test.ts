import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Metadata, type Client } from '@grpc/grpc-js';
import { memoryStore, redisStore, silenceWarnings } from '@sluice/core';
import { startTcpProxy, until, useRedis } from '@sluice/testkit';
import { serveRls } from '../../src/rls/serve-rls.ts';
import { METHODS } from './protocol.ts';
import { RawClient, frameOf } from './raw-call.ts';
import { descriptor, makeService, overridesOf, runService, statusOf, type RunningService } from './running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }]\n';
const REQUEST = { domain: 'shop', descriptors: [descriptor('user=ann')] };
silenceWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();

describe('draining', () => {
  const running: RunningService[] = [];
  const run = async (...options: Parameters<typeof runService>): Promise<RunningService> => {
    const one = await runService(...options);
    running.push(one);
    return one;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.close()));
  });

  it('is NOT_SERVING, takes no more connections, and answers what was asked before', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(redis.server.url).port) });
    const one = await run(LIMITS, {
      store: redisStore(proxy.through(redis.server.url), { prefix: 'sluice' }),
      timeoutMs: 20_000,
    });
    await one.ask(REQUEST);
    proxy.hang();
    const calls = Array.from({ length: 10 }, () => statusOf(one.ask(REQUEST)));
    await until('all calls have begun', () => one.rls.openCalls === 10);
    const drained = one.rls.drain();
    expect(one.service.health.isServing).toBe(false);
    const late = connectHttp2(`http://127.0.0.1:${String(one.port)}`);
    const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException];
    await proxy.heal();

    expect(new Set(await Promise.all(calls))).toEqual(new Set(['OK']));
    await drained;
    expect([error.code, one.rls.openCalls]).toEqual(['ECONNREFUSED', 0]);
    proxy.close();
  });

  it('ends calls that take longer than its grace', async () => {
    const one = await run(LIMITS, { connectionGraceMs: 50 });
    const raw = new RawClient(one.port);
    const call = raw.call({ chunks: [frameOf(Buffer.alloc(100)).subarray(0, 20)], ends: false });
    await until('the call has begun', () => one.rls.openCalls === 1);
    await one.rls.drain();

    expect((await call).grpcStatus).toBeUndefined();
    expect(one.rls.openCalls).toBe(0);
  });

  it('costs a client that goes to the next process no call', async () => {
    const store = memoryStore();
    const statuses: string[] = [];
    let hasEnded = false;
    const first = await run(LIMITS, { store });
    const worker = async (client: Client): Promise<void> => {
      while (!hasEnded) statuses.push(await statusOf(askPatiently(client)));
    };
    const workers = Array.from({ length: 8 }, () => worker(first.client));
    await until('calls are answered', () => statuses.length > 50);

    for (let restarts = 0; restarts < 3; restarts++) {
      const last = running.at(-1) as RunningService;
      const before = statuses.length;
      const drained = last.rls.drain();
      await next(first.port, store);
      await drained;
      await until('calls are answered again', () => statuses.length > before + 50);
    }
    hasEnded = true;
    await Promise.all(workers);

    expect(new Set(statuses)).toEqual(new Set(['OK']));
  });

  /** A further process on the port of one that drains. */
  async function next(port: number, store: ReturnType<typeof memoryStore>): Promise<void> {
    const service = makeService(LIMITS, store, 100, undefined, true);
    const rls = serveRls(service, { overrides: overridesOf(service.core) });
    rls.server.listen(port, '127.0.0.1');
    await once(rls.server, 'listening');
    const close = async (): Promise<void> => {
      await rls.close();
      service.stats.close();
      await service.core.close();
    };
    running.push({ ...(running[0] as RunningService), service, rls, close });
  }
});

describe('the age of a connection', () => {
  it('is bounded: its client is asked to leave, and makes another', async () => {
    const one = await runService(LIMITS, { maxConnectionAgeMs: 100, connectionGraceMs: 5000 });
    const session = connectHttp2(`http://127.0.0.1:${String(one.port)}`);
    const [code, lastStream] = (await once(session, 'goaway')) as [number, number];

    expect([code, lastStream]).toEqual([0, 2 ** 31 - 1]);
    await once(session, 'close');
    for (let i = 0; i < 20; i++) expect(await statusOf(askPatiently(one.client))).toBe('OK');
    await one.close();
  });
});

describe('an age beyond what timers of Node can wait', () => {
  it('is waited for, not cut to nothing', async () => {
    const one = await runService(LIMITS, { maxConnectionAgeMs: 365 * 86_400_000 });
    const session = connectHttp2(`http://127.0.0.1:${String(one.port)}`);
    let isAsked = false;
    session.on('goaway', () => (isAsked = true));
    await once(session, 'connect');
    // A timer that is too long ends after 1 ms: before the second answer in any case.
    for (let i = 0; i < 2; i++) await new Promise((resolve) => session.ping(resolve));
    expect(await statusOf(askPatiently(one.client))).toBe('OK');
    expect(isAsked).toBe(false);
    session.close();
    await one.close();
  });
});

/** Calls ShouldRateLimit, and waits for a connection where there is none. */
function askPatiently(client: Client): Promise<unknown> {
  const { path, requestSerialize, responseDeserialize } = METHODS.shouldRateLimit;
  const metadata = new Metadata({ waitForReady: true });
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, REQUEST, metadata, (error, response) => {
      if (error !== null) reject(error);
      else resolve(response);
    });
  });
}
