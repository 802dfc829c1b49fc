import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { METHODS } from '../rls/protocol.ts';
import { callMethod, runService, makeStatus, type RunningService } from '../rls/running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 5 } }]\n';

describe('grpc.health.v1.Health', () => {
  let running: RunningService;
  beforeEach(async () => {
    running = await runService(LIMITS);
  });
  afterEach(async () => {
    await running.close();
  });

  const check = async (service: string): Promise<string> =>
    (await callMethod(running.client, METHODS.check, { service })).status;

  it.each(['', 'ratelimit'])('Check of "%s" says whether the service takes requests', async (service) => {
    expect(await check(service)).toBe('SERVING');
    running.service.health.isServing = false;
    expect(await check(service)).toBe('NOT_SERVING');
  });

  it('Check of another service is NOT_FOUND', async () => {
    expect(await makeStatus(check('other'))).toBe('NOT_FOUND');
  });
});
