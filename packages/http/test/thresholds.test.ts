import { describe, expect, it } from '@jest/globals';
import { byUser } from '@sluice/http';
import { fixedWindow, type ThresholdEvent } from '@sluice/core';
import { testEnforcer } from '@sluice/testkit';

describe('the option onThreshold', () => {
  it('is told which key has used a share of its limit, once for each', async () => {
    const told: ThresholdEvent[] = [];
    const enforce = testEnforcer({
      name: 'api',
      policy: fixedWindow({ limit: 2, window: '1h' }),
      key: byUser(),
      onThreshold: { at: [0.5], call: (event) => told.push(event) },
    });

    for (const user of ['ann', 'ann', 'bob', 'ann']) await enforce({ user });

    expect(told.map(({ limiter, key, level, used, limit }) => [limiter, key, level, used, limit])).toEqual([
      ['api', 'ann', 0.5, 1, 2],
      ['api', 'bob', 0.5, 1, 2],
    ]);
  });
});
