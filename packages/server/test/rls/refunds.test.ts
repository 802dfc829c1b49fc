import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import { descriptor, runService, makeStatus, type RunningService } from './running-service.ts';

const LIMITS = `
domain: tokens
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 100 }
  - key: bucket
    sluice: { tokenBucket: { capacity: 100, refill: 1, every: 1d } }
  - key: closed
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: free
    rate_limit: { unlimited: true }
`;
const TOKEN = 'Bearer secret';
const redis = useRedis();

describe.each([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
])('is_negative_hits, on %s', (name, storeOf) => {
  let running: RunningService;
  beforeAll(async () => {
    running = await runService(LIMITS, { store: storeOf(), timeoutMs: 60_000, token: 'secret' });
  });
  afterAll(async () => {
    await running.close();
  });

  const hits = (written: string, value: number, isNegativeHits = false): Parameters<RunningService['ask']>[0] => ({
    domain: 'tokens',
    descriptors: [descriptor(written, { hitsAddend: { value }, isNegativeHits })],
  });
  const remaining = async (written: string): Promise<number | undefined> =>
    (await running.ask(hits(written, 0))).statuses?.[0]?.limitRemaining;

  it.each(['user', 'bucket'])('gives units of a %s back, and states what is left then', async (key) => {
    const user = `${key}=${name}-back`;
    await running.ask(hits(user, 70));
    const answer = await running.ask(hits(user, 50, true), { authorization: TOKEN });

    expect(answer.overallCode).toBe('OK');
    expect(answer.statuses?.[0]).toMatchObject({ code: 'OK', limitRemaining: 80 });
    expect(answer.responseHeadersToAdd).toBeUndefined();
    expect(await remaining(user)).toBe(80);
  });

  it('gives back no more than was used', async () => {
    const user = `user=${name}-more`;
    await running.ask(hits(user, 10));
    await running.ask(hits(user, 5000, true), { authorization: TOKEN });

    expect(await remaining(user)).toBe(100);
  });

  it('is made although another descriptor of the request is denied', async () => {
    const user = `user=${name}-beside`;
    await running.ask(hits(user, 10));
    const answer = await running.ask(
      {
        domain: 'tokens',
        descriptors: [descriptor('closed=x'), descriptor(user, { hitsAddend: { value: 4 }, isNegativeHits: true })],
      },
      { authorization: TOKEN },
    );

    expect(answer.overallCode).toBe('OVER_LIMIT');
    expect(answer.statuses?.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK']);
    expect(await remaining(user)).toBe(94);
  });

  it.each([
    ['no token', undefined],
    ['another token', 'Bearer other'],
    ['half a token', 'Bearer secre'],
    ['another scheme', 'Basic secret'],
  ])('needs the token of the service: with %s nothing changes', async (what, authorization) => {
    const user = `user=${name}-${what.replaceAll(' ', '-')}`;
    await running.ask(hits(user, 10));
    const call = running.ask(
      {
        domain: 'tokens',
        descriptors: [descriptor(user), descriptor(user, { hitsAddend: { value: 5 }, isNegativeHits: true })],
      },
      authorization === undefined ? {} : { authorization },
    );

    expect(await makeStatus(call)).toBe('PERMISSION_DENIED');
    expect(await remaining(user)).toBe(90);
  });
});
