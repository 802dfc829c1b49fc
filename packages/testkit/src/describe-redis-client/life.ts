import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import type { Servers } from './servers.ts';
import { limiterOn } from './setup.ts';
import type { RedisClientTarget } from './target.ts';

const policy = fixedWindow({ limit: 5, window: '1h' });

/** A client belongs to the code that made it. */
export function describeLife(servers: () => Servers, { connect, unconnected, prefixed }: RedisClientTarget): void {
  describe('of the application', () => {
    it('stays open when the limiters are closed', async () => {
      const { client, close } = await connect(servers().endpoint);
      const first = limiterOn(client, policy);
      await first.consume('key');

      await first.close();

      expect(await limiterOn(client, policy).consume('key')).toMatchObject({ remaining: 4, source: 'redis' });
      await close();
    });

    it('closed by its owner is reported, and not opened again', async () => {
      const { client, close } = await connect(servers().endpoint);
      const limiter = limiterOn(client, policy);
      await limiter.consume('key');

      await close();

      for (const attempt of [limiter.consume('key'), limiter.peek('key'), limiter.block('key', '1m')]) {
        await expect(attempt).rejects.toMatchObject({
          code: 'SLUICE_STORE_FAILED',
          kind: 'connection',
          message: expect.stringMatching(/closed/) as unknown,
        });
      }
    });

    if (unconnected !== undefined) {
      it('that is not connected yet is reported, and the store does not connect it', async () => {
        const { client, isConnected, close } = unconnected(servers().endpoint);
        const limiter = limiterOn(client, policy);

        await expect(limiter.consume('key')).rejects.toMatchObject({
          code: 'SLUICE_STORE_FAILED',
          kind: 'connection',
          message: expect.stringMatching(/await client\.connect\(\)/) as unknown,
        });

        expect(isConnected()).toBe(false);
        await limiter.close();
        await close();
      });
    }

    if (prefixed !== undefined) {
      it('applies its own key prefix', async () => {
        const { client, close } = await prefixed(servers().endpoint, 'sluice:behind:');

        await limiterOn(client, policy).consume('prefixed');

        expect((await servers().keys()).filter((key) => key.includes('prefixed'))).toEqual([
          expect.stringMatching(/^sluice:behind:sluice:contract-\d+:\{prefixed\}:/),
        ]);
        await close();
      });
    }
  });
}
