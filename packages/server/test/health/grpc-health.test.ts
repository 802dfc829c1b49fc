import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runService, type RunningService } from '../rls/running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 5 } }]\n';

describe('grpc.health.v1.Health', () => {
  let running: RunningService;
  beforeEach(async () => {
    running = await runService(LIMITS);
  });
  afterEach(() => running.close());

  it.each(['', 'ratelimit'])('Check of "%s" says whether the service takes requests', async (service) => {
    expect(await running.client.check(service)).toBe('SERVING');
    running.health.isServing = false;
    expect(await running.client.check(service)).toBe('NOT_SERVING');
  });

  it('Check of another service is NOT_FOUND', async () => {
    expect(await running.client.check('other')).toBe('NOT_FOUND');
  });
});
