import { describe, expect, it } from '@jest/globals';
import { byUser } from '@sluice/old-http';
import { createLimiter, escalate, fixedWindow } from '@sluice/old-core';
import { testEnforcer, type TestOptions, type TestRequest } from '@sluice/testkit';

const policy = fixedWindow({ limit: 1, window: '1h' });
const all = { denied: 420, blocked: 418, deny: 404, missingKey: 401 };

/** The last denial of these requests: its status, and the status and title in its body. */
async function denialOf(options: Partial<TestOptions>, requests: readonly TestRequest[]): Promise<unknown[]> {
  const enforce = testEnforcer({ policy, key: byUser(), ...options } as TestOptions);
  let last: unknown[] = [];
  for (const request of requests) {
    const { denial } = await enforce(request);
    const { status, title } = JSON.parse(denial?.body ?? '{}') as Record<string, unknown>;
    last = [denial?.status, status, title];
  }
  return last;
}

const ann = { user: 'ann' };
const escalated = { escalate: escalate({ after: 1, block: '1m', decay: '1h' }) };

describe('the option status', () => {
  it.each<[string, Partial<TestOptions>, readonly TestRequest[], unknown[]]>([
    ['a request over its limit', {}, [ann, ann], [420, 420, 'Quota Exceeded']],
    ['a key that is blocked', escalated, [ann, ann, ann], [418, 418, 'Quota Exceeded']],
    ['an address on the deny list', { deny: ['192.0.2.1'] }, [ann], [404, 404, 'Not Found']],
    ['a key on the deny list', { deny: ['ann'] }, [ann], [404, 404, 'Not Found']],
    ['a request without a key', {}, [{}], [401, 401, 'Unauthorized']],
    ['a request without a key among others', { skip: () => false }, [{}], [401, 401, 'Unauthorized']],
  ])('is that of %s', async (_what, options, requests, expected) => {
    expect(await denialOf({ ...options, status: all }, requests)).toEqual(expected);
  });

  it('may be given in part', async () => {
    const status = { denied: 503 };

    expect(await denialOf({ status }, [ann, ann])).toEqual([503, 503, 'Quota Exceeded']);
    expect(await denialOf({ status }, [{}])).toEqual([403, 403, 'Forbidden']);
  });

  it('is that of a limiter that was handed in, too', async () => {
    const limiter = createLimiter({ policy });
    await limiter.block('ann', '1h');
    const enforce = testEnforcer({ limiter, key: byUser(), status: { blocked: 451 } });

    expect((await enforce(ann)).denial?.status).toBe(451);
  });

  it.each<[unknown, string]>([
    [{ denied: 200 }, 'status.denied must be a whole number from 400 to 599, got 200'],
    [{ deny: '404' }, 'status.deny must be a whole number from 400 to 599, got "404"'],
    [{ blocked: null }, 'status.blocked must be a whole number from 400 to 599, got null'],
    [{ missing: 401 }, 'missing'],
    [429, 'status takes an object with denied, blocked, deny and missingKey, got 429'],
  ])('is not %p', (status, message) => {
    expect(() => testEnforcer({ policy, status } as TestOptions)).toThrow(message);
  });
});
