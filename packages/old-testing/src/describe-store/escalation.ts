import assert from 'node:assert/strict';
import { createLimiter, escalate } from '@sluice/old-core';
import { matches } from '../matches.ts';
import type { Suite } from '../runner.ts';
import { perMinute, type StoreSetup } from './setup.ts';

/** Denials that are counted, and block. */
export function describeEscalation({ describe, it }: Suite, { clock: newClock, open }: StoreSetup): void {
  describe('a limiter that escalates', () => {
    it('blocks after so many denials, and longer each time', async () => {
      const clock = newClock();
      const escalation = escalate({ after: 2, block: ['5m', '20m'], decay: '1d' });
      const limiter = createLimiter({ ...open(clock), policy: perMinute(1), escalate: escalation });

      for (const blockMs of [300_000, 1_200_000]) {
        assert.equal((await limiter.consume('key')).outcome, 'allowed');
        assert.equal((await limiter.consume('key')).outcome, 'denied');
        matches(await limiter.consume('key'), { outcome: 'blocked', retryAfterMs: blockMs });
        clock.advance(blockMs - 1);
        assert.equal((await limiter.consume('key')).outcome, 'blocked');
        clock.advance(1);
      }
      assert.equal((await limiter.consume('other')).outcome, 'allowed');
    });

    it('counts each of many denials that come at once, and forgets them with a reset', async () => {
      const escalation = escalate({ after: 50, block: '5m', decay: '1d' });
      const limiter = createLimiter({ ...open(), policy: perMinute(10), escalate: escalation });

      await Promise.all(Array.from({ length: 59 }, () => limiter.consume('key')));
      await limiter.reset('key');
      const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.consume('key')));

      assert.equal(decisions.filter(({ outcome }) => outcome === 'allowed').length, 10);
      assert.equal(decisions.filter(({ outcome }) => outcome === 'blocked').length, 1);
    });
  });
}
