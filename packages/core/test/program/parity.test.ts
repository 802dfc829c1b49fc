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
  it.each([...NAMES, 'several kinds'] as const)(
    'answers every random call of %s as in memory, also on a key that policies share',
    async (kind) => {
      const random = seeded(seed);
      const isMixed = kind === 'several kinds';
      for (let trace = 0; trace < cases(isMixed ? 200 : 40); trace++) {
        const policies = Array.from({ length: isMixed ? random.integer(1, 4) : 2 }, () =>
          anyPolicy(random, isMixed ? random.pick(NAMES as ['fixedWindow']) : kind),
        );
        const traffic = new Traffic(random, `${kind}-${String(trace)}-`, policies, trace % 2 === 0);
        expect(await difference(traffic)).toBeUndefined();
      }
    },
  );
});
