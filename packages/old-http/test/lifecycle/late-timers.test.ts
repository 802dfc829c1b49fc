import { expect, it } from '@jest/globals';
import { byAll } from '@sluice/old-http';
import { leakyBucket, memoryStore } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import { fakeClock, testFramework, TestResponse } from '@sluice/testkit';

/** Keeps the event loop from everything else. */
function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

it('requests that wait start in their order, however late the event loop comes to it', async () => {
  const clock = fakeClock(1_795_262_400_000);
  const policy = leakyBucket({ limit: 100, window: '1s', maxDelay: '1s' });
  const { enforcer } = createEnforcer(
    { policy, key: byAll(), store: memoryStore({ clock }), name: 'late-timers' },
    testFramework,
  );
  const started: string[] = [];
  const visit = async (name: string): Promise<void> => {
    await enforcer.enforce({}, new TestResponse());
    started.push(name);
  };
  const pass = async (ms: number): Promise<void> => {
    await new Promise(setImmediate); // until all have been decided
    block(ms);
    clock.atMs += ms;
    await new Promise(setImmediate); // timers take their time from the turn they are made in
  };

  const visits = ['0', '10', '20', '30', '40', '50'].map(visit);
  await pass(15);
  visits.push(visit('60, in 45'));
  await pass(5);
  visits.push(visit('70, in 50 as the one at 50'));
  await pass(100);
  await Promise.all(visits);

  expect(started).toEqual(['0', '10', '20', '30', '40', '50', '60, in 45', '70, in 50 as the one at 50']);
});
