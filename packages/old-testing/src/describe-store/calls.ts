import assert from 'node:assert/strict';
import { createLimiter, type Part, type SingleLimiterOptions, type Store, type StoreAnswer } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** Several requests in one call of `perform`, as limiters send those of one turn of the event loop. */
export function describeCalls({ describe, it }: Suite, { clock: newClock, open }: StoreSetup): void {
  describe('requests of one call', () => {
    it('are answered in order, all at one instant of the clock', async () => {
      const clock = newClock();
      const options = open(clock);
      const { store } = options;
      const part = await partOf({ ...options, policy: perMinute(5) });
      const taking = (cost: number): Part => ({ ...part, cost });

      const answers = await store.perform([
        { op: 'consume', parts: [taking(3)] },
        { op: 'consume', parts: [taking(3)] },
        { op: 'peek', parts: [taking(2)] },
        { op: 'consume', parts: [taking(1), taking(1)] },
        { op: 'consume', parts: [taking(1)] },
        { op: 'reset', part },
        { op: 'consume', parts: [taking(5)] },
      ]);

      assert.equal(answers.length, 7);
      for (const answer of answers) matches(answer, { atMs: clock.atMs });
      assert.deepEqual(
        answers.map((answer) => (answer as StoreAnswer).parts.map(({ policies }) => policies[0]?.allowed)),
        [[true], [false], [true], [true, true], [false], [], [true]],
      );
    });

    it('are decided for each key in their order', async () => {
      const options = open();
      const part = await partOf({ ...options, policy: perMinute(1) });
      const { store } = options;
      const requests = ['a', 'b', 'a', 'b'].map((subject) => ({
        op: 'consume' as const,
        parts: [{ ...part, subject, key: subject, cost: 1 }],
      }));

      const answers = await store.perform(requests);

      assert.deepEqual(
        answers.map((answer) => (answer as StoreAnswer).parts[0]?.policies[0]?.allowed),
        [true, true, false, false],
      );
    });
  });
}

/** The requests of a limiter to the store. */
async function partOf(options: SingleLimiterOptions & { readonly store: Store }): Promise<Part> {
  const { store } = options;
  const parts: Part[] = [];
  const seen: Store = {
    source: store.source,
    checkLimit: (limit) => {
      store.checkLimit?.(limit);
    },
    perform: (requests, call) => {
      for (const request of requests) if ('parts' in request) parts.push(...request.parts);
      return store.perform(requests, call);
    },
  };
  await createLimiter({ ...options, store: seen }).peek('key');
  const [part] = parts;
  if (part === undefined) throw new Error('the limiter has not asked its store');
  return part;
}
