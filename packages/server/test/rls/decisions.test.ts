import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore, redisStore } from '@sluice/core';
import { useRedis } from '@sluice/testkit';
import type { DescriptorFields, ResponseFields } from './protocol.ts';
import { descriptor, runService, makeStatus, type RunningService } from './running-service.ts';

/** The windows are days, so that none ends during a test. */
const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: path
    rate_limit: { unit: week, requests_per_unit: 3 }
  - key: free
    rate_limit: { unlimited: true }
  - key: closed
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 2 }
  - key: pool
    quota_mode: true
    rate_limit: { unit: day, requests_per_unit: 2 }
  - key: watched_pool
    quota_mode: true
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: bucket
    sluice: { tokenBucket: { capacity: 4, refill: 4, every: 30m } }
  - key: hourly
    sluice: { slidingLog: { limit: 2, window: 1h } }
  - key: both
    sluice:
      - { fixedWindow: { name: daily, limit: 4, window: 1d } }
      - { slidingLog: { name: hourly, limit: 2, window: 1h } }
`;

const redis = useRedis();
let subjects = 0;

/** A value that no other test uses, so that it has its budget to itself. */
function fresh(): string {
  return `s${String(++subjects)}`;
}

describe.each([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis.client, { prefix: 'sluice' })],
])('decisions over descriptors, on %s', (_name, storeOf) => {
  let running: RunningService;
  beforeAll(async () => {
    running = await runService(LIMITS, { store: storeOf(), timeoutMs: 60_000 });
  });
  afterAll(async () => {
    await running.close();
  });

  const ask = (...descriptors: readonly DescriptorFields[]): Promise<ResponseFields> =>
    running.ask({ domain: 'shop', descriptors });
  /** Asks until the first denial. Returns how often it was allowed. */
  const allowedTimes = async (...descriptors: readonly DescriptorFields[]): Promise<number> => {
    for (let i = 0; ; i++) if ((await ask(...descriptors)).overallCode === 'OVER_LIMIT') return i;
  };
  const remaining = async (written: string): Promise<number> => {
    const { statuses } = await ask(descriptor(written, { hitsAddend: { value: 0 } }));
    return statuses?.[0]?.limitRemaining ?? 0;
  };

  it('allow as often as the limit says, and state what is left', async () => {
    const user = descriptor(`user=${fresh()}`);
    for (let left = 4; left >= 0; left--) {
      const { overallCode, statuses } = await ask(user);

      expect(overallCode).toBe('OK');
      expect(statuses).toHaveLength(1);
      expect(statuses?.[0]).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 5, unit: 'DAY' } });
      expect(statuses?.[0]?.limitRemaining ?? 0).toBe(left);
    }
    const denied = await ask(user);

    expect(denied.overallCode).toBe('OVER_LIMIT');
    expect(denied.statuses?.[0]).toMatchObject({ code: 'OVER_LIMIT', currentLimit: { requestsPerUnit: 5 } });
    expect(denied.statuses?.[0]?.limitRemaining).toBeUndefined();
  });

  it('take all enforcing descriptors or none', async () => {
    const [user, path] = [fresh(), fresh()];
    const both = [descriptor(`user=${user}`), descriptor(`path=${path}`)];

    expect(await allowedTimes(...both)).toBe(3);
    const denied = await ask(...both);

    expect(denied.statuses?.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT']);
    expect(denied.statuses?.[0]?.limitRemaining).toBe(2);
    expect(await remaining(`user=${user}`)).toBe(2);
  });

  it('answer a status per descriptor in order, with and without limits', async () => {
    const { overallCode, statuses } = await ask(
      descriptor('nothing=here'),
      descriptor(`user=${fresh()}`),
      descriptor('free=all'),
      descriptor('user=a deeper=one'),
      {},
    );

    expect(overallCode).toBe('OK');
    expect(statuses).toEqual([
      { code: 'OK' },
      expect.objectContaining({ code: 'OK', limitRemaining: 4 }),
      { code: 'OK', limitRemaining: 2 ** 32 - 1 },
      { code: 'OK' },
      { code: 'OK' },
    ]);
  });

  it('allow everything in an unknown domain', async () => {
    const answer = await running.ask({ domain: 'other', descriptors: [descriptor('closed=x')] });

    expect(answer).toEqual({ overallCode: 'OK', statuses: [{ code: 'OK' }] });
  });

  it('count the hits of the request, and those of a descriptor instead', async () => {
    const [user, path] = [fresh(), fresh()];
    await running.ask({
      domain: 'shop',
      hitsAddend: 3,
      descriptors: [descriptor(`user=${user}`), descriptor(`path=${path}`, { hitsAddend: { value: 2 } })],
    });

    expect(await remaining(`user=${user}`)).toBe(2);
    expect(await remaining(`path=${path}`)).toBe(1);
  });

  it('add up for a descriptor that comes twice', async () => {
    const user = fresh();
    const twice = [descriptor(`user=${user}`), descriptor(`user=${user}`)];
    const { statuses } = await ask(...twice);

    expect(statuses?.map(({ limitRemaining }) => limitRemaining)).toEqual([3, 3]);
    expect(await allowedTimes(...twice)).toBe(1);
    expect(await remaining(`user=${user}`)).toBe(1);
  });

  describe('in shadow mode', () => {
    it('never deny, and state that nothing is left', async () => {
      const watched = descriptor(`watched=${fresh()}`);
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await ask(watched));

      expect(answers.map(({ overallCode }) => overallCode)).toEqual(['OK', 'OK', 'OK', 'OK']);
      expect(answers.map(({ statuses }) => statuses?.[0]?.limitRemaining ?? 0)).toEqual([1, 0, 0, 0]);
      expect(answers[3]?.statuses?.[0]).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 2 } });
    });

    it('take units although the request is denied', async () => {
      const watched = fresh();
      await ask(descriptor('closed=x'), descriptor(`watched=${watched}`));

      expect(await remaining(`watched=${watched}`)).toBe(1);
    });
  });

  describe('in quota mode', () => {
    it('take the descriptors that allow, and deny when none does', async () => {
      const [one, two] = [fresh(), fresh()];
      await ask(descriptor(`pool=${one}`));
      const pools = [descriptor(`pool=${one}`), descriptor(`pool=${two}`)];

      expect((await ask(...pools)).statuses?.map(({ code }) => code)).toEqual(['OK', 'OK']);
      const half = await ask(...pools);
      expect(half.overallCode).toBe('OK');
      expect(half.statuses?.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK']);
      const none = await ask(...pools);
      expect(none.overallCode).toBe('OVER_LIMIT');
      expect(none.statuses?.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OVER_LIMIT']);
    });

    it('let nothing enforcing be taken where all quotas deny', async () => {
      const [user, pool] = [fresh(), fresh()];
      await allowedTimes(descriptor(`pool=${pool}`));
      const denied = await ask(descriptor(`user=${user}`), descriptor(`pool=${pool}`));

      expect(denied.overallCode).toBe('OVER_LIMIT');
      expect(denied.statuses?.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT']);
      expect(await remaining(`user=${user}`)).toBe(5);
    });

    it('take what enforces and one of the quotas together', async () => {
      const [user, one, two] = [fresh(), fresh(), fresh()];
      await allowedTimes(descriptor(`pool=${one}`));
      const answer = await ask(descriptor(`pool=${one}`), descriptor(`user=${user}`), descriptor(`pool=${two}`));

      expect(answer.overallCode).toBe('OK');
      expect(answer.statuses?.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK', 'OK']);
      expect([await remaining(`user=${user}`), await remaining(`pool=${two}`)]).toEqual([4, 1]);
    });

    it('allow where one is in shadow mode as well, as envoyproxy/ratelimit does', async () => {
      const [watched, pool] = [fresh(), fresh()];
      await allowedTimes(descriptor(`pool=${pool}`));
      const answers = [];
      for (let i = 0; i < 3; i++)
        answers.push(await ask(descriptor(`watched_pool=${watched}`), descriptor(`pool=${pool}`)));

      expect(answers.map(({ overallCode }) => overallCode)).toEqual(['OK', 'OK', 'OK']);
    });
  });

  describe('of hits of 0', () => {
    it('look whether one unit is left, and take none', async () => {
      const user = fresh();
      const check = descriptor(`user=${user}`, { hitsAddend: { value: 0 } });
      for (let i = 0; i < 7; i++) expect((await ask(check)).overallCode).toBe('OK');
      await allowedTimes(descriptor(`user=${user}`));

      expect((await ask(check)).overallCode).toBe('OVER_LIMIT');
    });

    it('that deny let nothing else be taken', async () => {
      const [user, path] = [fresh(), fresh()];
      await allowedTimes(descriptor(`path=${path}`));
      const denied = await ask(descriptor(`user=${user}`), descriptor(`path=${path}`, { hitsAddend: { value: 0 } }));

      expect(denied.overallCode).toBe('OVER_LIMIT');
      expect(denied.statuses?.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT']);
      expect(await remaining(`user=${user}`)).toBe(5);
    });

    it('are of one quota what hits are of another: one that allows is enough', async () => {
      const [one, two] = [fresh(), fresh()];
      await allowedTimes(descriptor(`pool=${one}`));
      const answer = await ask(descriptor(`pool=${one}`), descriptor(`pool=${two}`, { hitsAddend: { value: 0 } }));

      expect(answer.overallCode).toBe('OK');
      expect(answer.statuses?.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK']);
      expect(await remaining(`pool=${two}`)).toBe(2);
    });
  });

  describe('by policies that Envoy does not have', () => {
    it('state a limit where the window is a unit, and none where it is not', async () => {
      const bucket = await ask(descriptor(`bucket=${fresh()}`));
      const hourly = await ask(descriptor(`hourly=${fresh()}`));

      expect(bucket.statuses?.[0]).toEqual({ code: 'OK', limitRemaining: 3, durationUntilReset: { seconds: 450 } });
      expect(hourly.statuses?.[0]).toMatchObject({
        currentLimit: { requestsPerUnit: 2, unit: 'HOUR' },
        limitRemaining: 1,
        durationUntilReset: { seconds: 3600 },
      });
    });

    it('state the policy that decides, of several', async () => {
      const both = descriptor(`both=${fresh()}`);

      expect((await ask(both)).statuses?.[0]).toMatchObject({ currentLimit: { unit: 'HOUR' }, limitRemaining: 1 });
      expect(await allowedTimes(both)).toBe(1);
      expect((await ask(both)).statuses?.[0]).toMatchObject({ code: 'OVER_LIMIT', currentLimit: { unit: 'HOUR' } });
    });
  });

  describe('over a limit of the request itself', () => {
    it('take it instead of the rule', async () => {
      const own = descriptor(`user=${fresh()}`, { limit: { requestsPerUnit: 2, unit: 3 } });
      const { statuses } = await ask(own);

      expect(statuses?.[0]).toMatchObject({ currentLimit: { requestsPerUnit: 2, unit: 'HOUR' }, limitRemaining: 1 });
      expect(await allowedTimes(own)).toBe(1);
    });

    it('need no rule, but a domain that is known', async () => {
      const own = descriptor(`new=${fresh()}`, { limit: { requestsPerUnit: 1, unit: 4 } });

      expect(await allowedTimes(own)).toBe(1);
      expect((await running.ask({ domain: 'other', descriptors: [own] })).statuses).toEqual([{ code: 'OK' }]);
    });

    it('reject one without a unit', async () => {
      for (const unit of [0, 8, -1]) {
        const own = descriptor('user=x', { limit: { requestsPerUnit: 1, unit } });

        expect(await makeStatus(ask(own))).toBe('INVALID_ARGUMENT');
      }
    });
  });

  it('reject a request without a domain or descriptors as envoyproxy/ratelimit does', async () => {
    expect(await makeStatus(running.ask({ descriptors: [descriptor('user=x')] }))).toBe('UNKNOWN');
    expect(await makeStatus(running.ask({ domain: 'shop' }))).toBe('UNKNOWN');
  });

  it('reject more hits than can be counted, and count nothing', async () => {
    const user = fresh();
    const most = descriptor('user=x', { hitsAddend: { value: Number.MAX_SAFE_INTEGER } });
    const more = descriptor('nothing=x', { hitsAddend: { value: '9007199254740992' } });

    expect((await ask(most)).overallCode).toBe('OVER_LIMIT');
    expect(await makeStatus(ask(descriptor(`user=${user}`), more))).toBe('INVALID_ARGUMENT');
    expect(await remaining(`user=${user}`)).toBe(5);
  });

  it('decide over 256 descriptors in one request', async () => {
    const path = fresh();
    const many = Array.from({ length: 255 }, (_, i) => descriptor(`user=${path}-${String(i)}`));
    const all = [...many, descriptor(`path=${path}`)];

    expect(await allowedTimes(...all)).toBe(3);
    expect(await remaining(`user=${path}-254`)).toBe(2);
    expect(await makeStatus(ask(...all, descriptor('user=x')))).toBe('INVALID_ARGUMENT');
  });
});
