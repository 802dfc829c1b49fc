import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, useRedis } from '@sluice/testkit';
import { anyPolicy, NAMES } from './any-policy.ts';
import { clockedRedis, ProgramStore } from './stores.ts';
import { Traffic } from './traffic.ts';

const redis = useRedis();
const seed = testSeed(20_261_129);

async function difference(traffic: Traffic): Promise<object | undefined> {
  const [memory, there] = [new ProgramStore(), clockedRedis(redis.client)];
  for (let call = 0; call < 40; call++) {
    const requests = traffic.next();
    memory.clock.atMs = there.clock.atMs = traffic.nowMs;
    const answers = await Promise.all(requests.map(([op, asks]) => there.perform(op, asks)));
    for (const [number, [op, asks]] of requests.entries()) {
      const here = memory.perform(op, asks);
      traffic.learn(here);
      if (JSON.stringify(here) !== JSON.stringify(answers[number]))
        return { call, number, op, asks, here, there: answers[number] };
    }
  }
  return undefined;
}

describe('the program in Redis', () => {
  it.each(NAMES)('answers every random call of %s as in memory', async (kind) => {
    const random = seeded(seed);

    for (let trace = 0; trace < cases(40); trace++) {
      const policies = [anyPolicy(random, kind), anyPolicy(random, kind)];
      const traffic = new Traffic(random, `${kind}-${String(trace)}-`, policies, trace % 2 === 0);
      expect(await difference(traffic)).toBeUndefined();
    }
  });

  it('answers every random call of policies of several kinds as in memory, also on a key that they share', async () => {
    const random = seeded(seed);

    for (let trace = 0; trace < cases(200); trace++) {
      const policies = Array.from({ length: random.integer(1, 4) }, () =>
        anyPolicy(random, random.pick(NAMES as ['fixedWindow'])),
      );
      const traffic = new Traffic(random, `mixed-${String(trace)}-`, policies, trace % 2 === 0);
      expect(await difference(traffic)).toBeUndefined();
    }
  });
});
