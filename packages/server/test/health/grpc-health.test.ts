import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { status, type Client, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import { until } from '@sluice/testkit';
import { METHODS, type HealthFields } from '../rls/protocol.ts';
import { connect, runService, type RunningService } from '../rls/running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 5 } }]\n';

describe('grpc.health.v1.Health', () => {
  let running: RunningService;
  beforeEach(async () => {
    running = await runService(LIMITS);
  });
  afterEach(async () => {
    await running.close();
  });

  const check = (service: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = METHODS.check;
      running.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service }, (error, response) => {
        if (error !== null) reject(error);
        else resolve(response?.status ?? '');
      });
    });
  const watch = (
    service: string,
    client: Client = running.client,
  ): { seen: string[]; ended: () => string | undefined; stream: ClientReadableStream<HealthFields> } => {
    const { path, requestSerialize, responseDeserialize } = METHODS.watch;
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
    const seen: string[] = [];
    let ended: string | undefined;
    stream.on('data', (response: HealthFields) => seen.push(response.status));
    stream.on('error', (error: ServiceError) => (ended = status[error.code]));
    return { seen, ended: () => ended, stream };
  };

  it.each(['', 'ratelimit'])('Check of "%s" says whether the service takes requests', async (service) => {
    expect(await check(service)).toBe('SERVING');
    running.service.health.isServing = false;
    expect(await check(service)).toBe('NOT_SERVING');
  });

  it('Watch tells the status at once, and after each change', async () => {
    const { seen } = watch('ratelimit');
    await until('the first status', () => seen.length === 1);
    running.service.health.isServing = false;
    await until('the second status', () => seen.length === 2);
    running.service.health.isServing = true;
    await until('the third status', () => seen.length === 3);

    expect(seen).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
  });

  it('Watch tells of the end of the server, and ends', async () => {
    const { seen, ended } = watch('');
    await until('the status', () => seen.length === 1);
    await running.rls.drain();
    await until('its end', () => ended() !== undefined);

    expect([seen, ended()]).toEqual([['SERVING', 'NOT_SERVING'], 'UNAVAILABLE']);
  });

  it('at most 1024 calls watch', async () => {
    const clients = Array.from({ length: 16 }, () => connect(running.port));
    const watchers = clients.flatMap((client) => Array.from({ length: 64 }, () => watch('', client)));
    await until('all statuses', () => watchers.every(({ seen }) => seen.length === 1));
    const one = watch('');
    await until('its end', () => one.ended() !== undefined);

    expect(one.ended()).toBe('RESOURCE_EXHAUSTED');
    expect(await check('')).toBe('SERVING');
    for (const client of clients) client.close();
  });
});
