import { expect } from '@jest/globals';
import { fixedWindow, type Decision } from '@sluice/old-core';
import { byHeader } from '@sluice/old-http';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

/** The option `mode: 'report'`. */
export function reportMode(suite: Suite): void {
  describe.each(suite.everywhere)('a limit that only reports, $place, over $kind', ({ stores, place }) => {
    it('counts and reports, but denies no request and sends no fields', async () => {
      const decisions = new Log<Decision>();
      const server = await suite.serve(
        {
          name: 'trial',
          policy: fixedWindow({ limit: 2, window: '1h' }),
          mode: 'report',
          onDecision: decisions.add,
          ...stores.fresh(),
        },
        { place },
      );

      const answers = [await server.send(), await server.send(), await server.send(), await server.send()];

      expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, 'hello']));
      for (const { headers } of answers) {
        for (const name of ['ratelimit', 'ratelimit-policy', 'retry-after']) expect(headers[name]).toBeUndefined();
      }
      expect(decisions.all.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied', 'denied']);
      expect(server.calls.all.map(({ rateLimit }) => rateLimit?.decision.allowed)).toEqual([true, true, false, false]);
      expect(server.calls.all[3]?.rateLimit?.key).toBe('127.0.0.1');
    });
  });

  it.each(PLACES)(
    'a limit %s that only reports denies neither clients on the deny list nor requests without a key',
    async (place) => {
      const policy = fixedWindow({ limit: 1, window: '1h' });
      const server = await suite.serve(
        { name: 'trial', policy, mode: 'report', key: byHeader('x-api-key'), deny: ['stolen', '127.0.0.1'] },
        { place },
      );

      const statuses = [
        ...(await server.statuses(1)),
        ...(await server.statuses(2, { headers: { 'X-Api-Key': 'stolen' } })),
      ];

      expect(statuses).toEqual([200, 200, 200]);
    },
  );
}
