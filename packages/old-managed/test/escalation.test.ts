import { describe, expect, it } from '@jest/globals';
import { escalate, fixedWindow, type Limiter } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter } = useManaged();

const apps = ['checkout'];
const policy = managed('orders');
const perHour = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });
const escalation = escalate({ after: 3, block: '5h', decay: '1d' });
const outcomeOf = async (orders: Limiter, cost = 1): Promise<string> => (await orders.consume('ann', cost)).outcome;

describe('a managed policy whose denials are counted', () => {
  it('goes on counting where it was when the policy changes, and blocks', async () => {
    const here = policies();
    await here.put('orders', perHour(5), { apps });
    const orders = limiter({ policy, escalate: escalation });
    await orders.consume('ann', 5);
    expect([await outcomeOf(orders), await outcomeOf(orders)]).toEqual(['denied', 'denied']);

    await here.put('orders', perHour(4), { apps, carryOver: 'keep' });
    await until('the change is known', async () => (await orders.peek('bob')).limit === 4);

    expect(await outcomeOf(orders)).toBe('blocked');
    expect((await orders.peek('ann', 0)).retryAfterMs).toBeGreaterThan(4 * 3_600_000);
  });

  it('counts nothing of a request that meets a state of a version it does not know, but once it is known', async () => {
    const here = policies();
    await here.put('orders', perHour(5), { apps });
    const behind = limiter({ policy, escalate: escalation });
    expect(await outcomeOf(behind, 9)).toBe('denied');
    await here.put('orders', perHour(4), { apps });
    await limiter({ policy, escalate: escalation }).consume('ann', 1); // writes a state of the new version

    expect([await outcomeOf(behind, 9), await outcomeOf(behind, 9)]).toEqual(['denied', 'blocked']);
  });

  it('is blocked for the applications that do not count its denials as well', async () => {
    await policies().put('orders', perHour(5), { apps });
    const counting = limiter({ policy, escalate: escalation });
    const plain = limiter({ policy });
    for (let i = 0; i < 3; i++) await outcomeOf(counting, 9);

    expect(await outcomeOf(plain)).toBe('blocked');
  });
});
