import { describe, expect, it } from '@jest/globals';
import { byUser } from '@sluice/old-http';
import { createEnforcer } from '@sluice/old-http/spi';
import { fixedWindow, type ThresholdEvent } from '@sluice/old-core';
import { testFramework, TestResponse } from '@sluice/testkit';

describe('the option onThreshold', () => {
  it('is told which key has used a share of its limit, once for each', async () => {
    const told: ThresholdEvent[] = [];
    const { enforcer, layer } = createEnforcer(
      {
        name: 'api',
        policy: fixedWindow({ limit: 2, window: '1h' }),
        key: byUser(),
        onThreshold: { at: [0.5], call: (event) => told.push(event) },
      },
      testFramework,
    );

    for (const user of ['ann', 'ann', 'bob', 'ann']) await enforcer.enforce({ user }, new TestResponse());
    await layer.core.close(); // it listens to the decisions of the process

    expect(told.map(({ limiter, key, level, used, limit }) => [limiter, key, level, used, limit])).toEqual([
      ['api', 'ann', 0.5, 1, 2],
      ['api', 'bob', 0.5, 1, 2],
    ]);
  });
});
