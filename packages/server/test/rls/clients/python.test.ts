import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore, silenceWarnings } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { startTcpProxy, until, useRedis } from '@sluice/testkit';
import { serve } from '../../serve.ts';
import { descriptor, runService, type RunningService, type RunOptions } from '../running-service.ts';
import { startPython, type Command, type PythonClient } from './python.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 3, name: per-user }
    metadata: { tier: [gold, 1.5, true, null] }
  - key: week
    rate_limit: { unit: week, requests_per_unit: 10 }
  - key: free
    rate_limit: { unlimited: true }
`;
const MIB = 1024 * 1024;
silenceWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();

/** A request as protobuf's JSON has it. */
const asking = (written: string, more: object = {}): { request: object } => ({
  request: { domain: 'shop', descriptors: [{ ...descriptor(written), ...more }] },
});

describe('gRPC of Python', () => {
  let service: RunningService;
  let clients: PythonClient[] = [];
  const start = async (options: RunOptions = {}): Promise<void> => {
    service = await runService(LIMITS, {
      store: memoryStore({ clock: fakeClock() }),
      token: 'secret',
      ...options,
    });
  };
  beforeEach(() => start());
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await service.close();
  });
  const python = (command: Command, port = service.port): PythonClient => {
    const client = startPython(port, command);
    clients = [...clients, client];
    return client;
  };

  it('is answered OK with what is left, and OVER_LIMIT once nothing is', async () => {
    const client = python('ask');
    const answers: unknown[] = [];
    for (let i = 0; i < 4; i++) answers.push(await client.ask(asking('user=ann')));

    expect(answers[0]).toEqual({
      code: 'OK',
      response: {
        overallCode: 'OK',
        statuses: [
          {
            code: 'OK',
            currentLimit: { requestsPerUnit: 3, unit: 'MINUTE', name: 'per-user' },
            limitRemaining: 2,
            durationUntilReset: '60s',
          },
        ],
        responseHeadersToAdd: [
          { key: 'RateLimit-Policy', value: '"per-user";q=3;w=60' },
          { key: 'RateLimit', value: '"per-user";r=2;t=60' },
        ],
        dynamicMetadata: {
          source: 'memory',
          policy: 'minute',
          outcome: 'allowed',
          metadata: { tier: ['gold', 1.5, true, null] },
        },
      },
    });
    expect(answers[3]).toMatchObject({
      code: 'OK',
      response: { overallCode: 'OVER_LIMIT', statuses: [{ code: 'OVER_LIMIT' }] },
    });
  });

  it('gives units back with the token alone', async () => {
    const client = python('ask');
    const refund = asking('user=ann', { isNegativeHits: true, hitsAddend: '2' });
    await client.ask(asking('user=ann', { hitsAddend: 3 }));

    expect(await client.ask(refund)).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await client.ask({ ...refund, token: 'other' })).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(await client.ask({ ...refund, token: 'secret' })).toMatchObject({
      code: 'OK',
      response: { statuses: [{ code: 'OK', limitRemaining: 2 }] },
    });
  });

  it('gets the statuses of bad calls, and goes on', async () => {
    const client = python('ask');

    expect(await client.ask({ ...asking('user=ann'), compress: true, padding: 1000 })).toMatchObject({
      code: 'UNIMPLEMENTED',
    });
    expect(await client.ask({ ...asking('user=ann'), padding: 16 * MIB })).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
    });
    expect(await client.ask({ request: {} })).toMatchObject({ code: 'UNKNOWN' });
    expect(await client.ask(asking('user=ann', { limit: { requestsPerUnit: 5 } }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await client.ask({ ...asking('user=ann'), padding: 3 * MIB })).toMatchObject({ code: 'OK' });
  });

  it('is answered before its deadline while Redis hangs', async () => {
    await service.close();
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
    await start({ store: redisStore(proxy.through(redis.server.url), { prefix: 'sluice' }), timeoutMs: 60_000 });
    const client = python('ask');
    await until('Redis decides', async () => {
      const answer = (await client.ask(asking('week=hung'))) as { response: { dynamicMetadata: { source: string } } };
      return answer.response.dynamicMetadata.source === 'redis';
    });
    proxy.hang();

    expect(await client.ask({ ...asking('user=hung'), timeout: 6 })).toMatchObject({
      code: 'OK',
      response: { overallCode: 'OK', dynamicMetadata: { source: 'local' } },
    });
    await proxy.heal();
    proxy.close();
  });

  it('checks health, and watches it through the end of the service', async () => {
    const [check, watch] = [python('check'), python('watch')];
    watch.send('');

    expect(await watch.next()).toEqual({ response: { status: 'SERVING' } });
    expect(await check.ask('')).toEqual({ code: 'OK', response: { status: 'SERVING' } });
    expect(await check.ask('ratelimit')).toEqual({ code: 'OK', response: { status: 'SERVING' } });
    expect(await check.ask('other')).toMatchObject({ code: 'NOT_FOUND' });
    await service.rls.drain();
    expect(await watch.next()).toEqual({ response: { status: 'NOT_SERVING' } });
    expect(await watch.next()).toEqual({ code: 'UNAVAILABLE' });
  });

  it.each([false, true])(
    "and protobuf's JSON by /json are answered alike, with original names: %s",
    async (original) => {
      const served = await serve(LIMITS, { grpc: 0 });
      const [grpcPort, http] = [served.server.addresses.grpc, served.server.addresses.http].map((at) =>
        Number(at?.split(':')[1]),
      );
      const client = python('json', grpcPort);
      const limit = { requestsPerUnit: 9, unit: 'HOUR' };
      // Checks, which change nothing for the other call.
      const checks = [
        asking('user=ann', { hitsAddend: '0' }),
        asking('week=x', { hitsAddend: '0' }),
        asking('free=x', { hitsAddend: '0' }),
        asking('nothing=x', { hitsAddend: '0' }),
        asking('user=ann', { hitsAddend: '0', limit }),
      ];
      const used = { domain: 'shop', descriptors: [descriptor('user=ann')], hitsAddend: 3 };
      const headers = { 'content-type': 'application/json' };
      await served.request('/json', { method: 'POST', headers, body: JSON.stringify(used) });
      const statuses: unknown[] = [];
      for (const check of checks) {
        const { grpc, json } = (await client.ask({ ...check, http, original })) as {
          grpc: { code: string; response: unknown };
          json: { status: number; response: unknown };
        };
        statuses.push(json.status);

        expect(grpc.code).toBe('OK');
        expect(json.response).toEqual(grpc.response);
      }
      expect(statuses).toEqual([429, 200, 200, 200, 200]);
      await served.close();
    },
  );
});
