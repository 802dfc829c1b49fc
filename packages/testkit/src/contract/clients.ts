import { expect } from '@jest/globals';
import { fixedWindow, memoryStore, type Decision } from '@sluice/old-core';
import { Agent, RetryAgent, request } from 'undici';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

/** Real clients with their retry options: the final status and body. */
const clients: readonly [string, (url: string) => Promise<[number, string]>][] = [
  [
    'undici',
    async (url) => {
      const agent = new RetryAgent(new Agent(), { maxRetries: 2 });
      const { statusCode, body } = await request(url, { dispatcher: agent });
      const text = await body.text();
      await agent.close();
      return [statusCode, text];
    },
  ],
  [
    'got',
    async (url) => {
      const { got } = await import('got');
      const { statusCode, body } = await got(url, { retry: { limit: 2 } });
      return [statusCode, body];
    },
  ],
  [
    'ky',
    async (url) => {
      const { default: ky } = await import('ky');
      const answer = await ky(url, { retry: { limit: 2 }, headers: { Connection: 'close' } });
      return [answer.status, await answer.text()];
    },
  ],
];

const START_MS = 1_795_262_400_250;

/** Clients that honour Retry-After succeed after the wait. */
export function retryingClients(suite: Suite): void {
  describe.each(PLACES)('a client that was denied by a limit %s', (place) => {
    it('succeeds after the second in Retry-After: undici’s RetryAgent, got and ky', async () => {
      const runs = clients.map(async ([name, fetchIt]) => {
        // It starts at the first denial, so that a slow machine denies like a fast one.
        let deniedAtMs: number | undefined;
        const clock = { now: () => START_MS + (deniedAtMs === undefined ? 0 : performance.now() - deniedAtMs) };
        const outcomes = new Log<Decision['outcome']>();
        const server = await suite.serve(
          {
            name: 'retry',
            // A timer may fire a few milliseconds early.
            policy: fixedWindow({ limit: 1, window: 980 }),
            store: memoryStore({ clock }),
            onDecision: ({ outcome }) => {
              if (outcome === 'denied') deniedAtMs ??= performance.now();
              outcomes.add(outcome);
            },
          },
          { place },
        );
        await server.send();

        const answer = await fetchIt(`http://127.0.0.1:${String(server.port)}/items`);
        return [name, answer, outcomes.all];
      });

      expect(await Promise.all(runs)).toEqual(
        clients.map(([name]) => [name, [200, 'hello'], ['allowed', 'denied', 'allowed']]),
      );
    });
  });
}
