import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, type Limiter } from '@sluice/old-core';
import { until } from '../until.ts';
import { startDeafRelay } from './deaf-relay.ts';
import type { Endpoint, Servers } from './servers.ts';
import { limiterOn } from './setup.ts';
import type { RedisClientTarget } from './target.ts';

const policy = fixedWindow({ limit: 1_000, window: '1h' });
const AT_ONCE = 50;

/** Redis ends or hangs during calls. */
export function describeFaults(servers: () => Servers, { connect, cluster = false }: RedisClientTarget): void {
  describe('while Redis is away', () => {
    const unhandled: unknown[] = [];
    const record = (reason: unknown): void => void unhandled.push(reason);
    beforeEach(() => {
      unhandled.length = 0;
      process.on('unhandledRejection', record);
    });
    afterEach(() => {
      process.off('unhandledRejection', record);
    });
    const many = (limiter: Limiter): Promise<unknown>[] =>
      Array.from({ length: AT_ONCE }, () => limiter.consume('key'));
    const reasons = async (decisions: readonly Promise<unknown>[]): Promise<unknown[]> =>
      (await Promise.allSettled(decisions)).map((settled) =>
        settled.status === 'rejected' ? (settled.reason as Error).name : settled.value,
      );
    /** Every connection of a pool is back: asks that count nothing are answered by Redis, as many at once as before. */
    const decidesAgain = (limiter: Limiter): Promise<unknown> =>
      until('decisions by Redis', async () => {
        const decisions = await Promise.all(Array.from({ length: AT_ONCE }, () => limiter.consume('key', 0)));
        return decisions.every(({ source }) => source === 'redis');
      });

    it('killed: every decision resolves, nothing is sent twice, and Redis decides when it is back', async () => {
      const { client, close } = await connect(servers().endpoint);
      const limiter = limiterOn(client, policy, 1_000);
      const patient = limiterOn(client, policy, 60_000, limiter);
      await patient.consume('key');
      const server = await servers().serverOf('{key}');

      server.pause(); // so that what is sent is not decided
      const inFlight = many(limiter);
      await limiter.consume('key').catch(() => undefined);
      await server.kill();
      const afterwards = many(limiter);

      expect(await reasons([...inFlight, ...afterwards])).toEqual(Array<string>(2 * AT_ONCE).fill('StoreError'));
      await server.restart();
      await decidesAgain(patient);
      expect((await patient.consume('key')).remaining).toBe(999);
      expect(unhandled).toEqual([]);
      await close();
    });

    // Nodes of a cluster announce their own addresses, so a relay is not possible.
    if (!cluster) {
      it('cut off after it decided: a call that may have counted is not sent again', async () => {
        const server = await servers().serverOf('{key}');
        const relay = await startDeafRelay(server);
        const { client, close } = await connect(behind(servers().endpoint, relay.port));
        const limiter = limiterOn(client, policy, 60_000);
        await limiter.consume('key');
        const { client: direct, close: closeDirect } = await connect(servers().endpoint);
        const onlooker = limiterOn(direct, policy, 60_000, limiter);

        relay.loseAnswers();
        const inFlight = many(limiter);
        await until('the server has decided', async () => (await onlooker.peek('key')).remaining === 999 - AT_ONCE);
        relay.cut();

        expect(await reasons(inFlight)).toContain('StoreError'); // a pool may have gone on over other connections
        await decidesAgain(limiter);
        expect((await limiter.peek('key')).remaining).toBe(999 - AT_ONCE);
        expect(unhandled).toEqual([]);
        await close();
        await closeDirect();
        relay.close();
      });
    }

    it('hung: the deadline holds, late answers are ignored, and Redis decides when it continues', async () => {
      const { client, close } = await connect(servers().endpoint);
      const limiter = limiterOn(client, policy, 100);
      const patient = limiterOn(client, policy, 60_000, limiter);
      await patient.consume('key');
      const server = await servers().serverOf('{key}');

      server.pause();
      const outcomes = await reasons(many(limiter));
      server.resume();

      expect(outcomes).toEqual(Array<string>(AT_ONCE).fill('StoreError'));
      await decidesAgain(patient);
      const { remaining } = await patient.consume('key');
      expect(remaining).toBeGreaterThanOrEqual(1_000 - 2 - AT_ONCE);
      expect(remaining).toBeLessThanOrEqual(1_000 - 2);
      expect(unhandled).toEqual([]);
      await close();
    });
  });
}

/** The same, by way of another port. */
function behind({ url, nodes, ...user }: Endpoint, port: number): Endpoint {
  const moved = new URL(url);
  moved.port = String(port);
  return { url: moved.href, nodes: nodes.map(({ host }) => ({ host, port })), ...user };
}
