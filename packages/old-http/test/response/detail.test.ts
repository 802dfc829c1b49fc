import { describe, expect, it } from '@jest/globals';
import { concurrency, escalate, fixedWindow, memoryStore, tokenBucket, type Policy } from '@sluice/old-core';
import { fakeClock, testEnforcer } from '@sluice/testkit';

const QUOTA_1S = fixedWindow({ limit: 1, window: '1s' });

async function detailOf(policy: Policy | readonly Policy[], cost = 1): Promise<unknown> {
  const enforce = testEnforcer({
    policy: policy as Policy,
    cost: () => cost,
    store: memoryStore({ clock: fakeClock() }),
  });
  let denied = await enforce();
  for (let i = 0; denied.denial === undefined && i < 3; i++) denied = await enforce();
  return (JSON.parse(denied.denial?.body ?? '{}') as { readonly detail?: unknown }).detail;
}

describe('the detail of a denial', () => {
  it.each<[string, Policy | readonly Policy[], number, string]>([
    ['a second', QUOTA_1S, 1, 'The limit default is used up. Try again in 1 second.'],
    [
      'two minutes',
      fixedWindow({ limit: 1, window: '120s' }),
      1,
      'The limit default is used up. Try again in 120 seconds.',
    ],
    ['more', fixedWindow({ limit: 1, window: '121s' }), 1, 'The limit default is used up. Try again in 3 minutes.'],
    ['hours', fixedWindow({ limit: 1, window: '1d' }), 1, 'The limit default is used up. Try again in 24 hours.'],
    ['days', fixedWindow({ limit: 1, window: '30d' }), 1, 'The limit default is used up. Try again in 30 days.'],
    [
      'two limits',
      [fixedWindow({ limit: 1, window: '1s', name: 'burst' }), fixedWindow({ limit: 1, window: '1m', name: 'steady' })],
      1,
      'The limits burst and steady are used up. Try again in 60 seconds.',
    ],
    [
      'a slot that another request holds',
      concurrency({ limit: 1, ttl: '1m' }),
      1,
      'The limit default is used up. Try again later.',
    ],
    [
      'a cost that never fits',
      tokenBucket({ capacity: 2, refill: 1, every: '1s' }),
      3,
      'The limit default is used up, and waiting does not help.',
    ],
  ])('says how long to wait, and of which limit: %s', async (_what, policy, cost, expected) => {
    expect(await detailOf(policy, cost)).toBe(expected);
  });

  it('says that a client is blocked', async () => {
    const enforce = testEnforcer({ policy: QUOTA_1S, escalate: escalate({ after: 1, block: '1h', decay: '1d' }) });
    let denied = await enforce();
    for (let i = 0; i < 2; i++) denied = await enforce();

    expect(denied.denial?.body).toContain('"detail":"The limit default blocks this client. Try again in 60 minutes."');
  });
});
