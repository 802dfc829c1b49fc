import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, type Limiter } from '@sluice/old-core';
import { consulAgents, until, type ConsulAgentUnderTest } from '@sluice/testkit';
import { consulMembership, splitStore } from '@sluice/old-split';

let agent: ConsulAgentUnderTest;
const limiters: Limiter[] = [];
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close();
  await agent.close();
});

function gateway(id: string, weight: number): Limiter {
  const membership = consulMembership({
    ...{ address: agent.address, service: 'gateways', id, register: { weight } },
    ttlMs: 3000,
  });
  const store = splitStore({ membership, graceMs: 3001 });
  const policy = fixedWindow({ limit: 100, window: '100ms', align: 'clock' });
  const limiter = createLimiter({ name: id, policy, store, onStoreError: 'throw' });
  limiters.push(limiter);
  return limiter;
}

/** Waits until each has this share of the limit: what is left of a key without traffic. */
async function have(shares: readonly number[], gateways: readonly Limiter[]): Promise<void> {
  await until(`they have ${shares.join()}`, async () => {
    const left = await Promise.all(gateways.map(async (limiter) => (await limiter.peek('fresh')).remaining));
    return left.join() === shares.join();
  });
}

describe.each(consulAgents())('a limit over gateways in %s', (_name, start) => {
  it('is divided by their weights, and again when one leaves', async () => {
    agent = await start();
    const gateways = [gateway('a', 3), gateway('b', 1), gateway('c', 1)] as const;
    const [first, ...others] = gateways;
    await have([60, 20, 20], gateways);
    await first.close();

    await have([50, 50], others);
    expect(limiters).toHaveLength(3);
  });
});
