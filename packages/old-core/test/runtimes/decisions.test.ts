import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runtimes, useRedis } from '@sluice/testkit';

const program = new URL('decisions.program.mjs', import.meta.url);

interface Result {
  readonly allowed: readonly number[];
  readonly asked: number;
  readonly sources: readonly string[];
  readonly order: readonly number[];
}

describe.each(runtimes())('core on $name', ({ commandOf }) => {
  const redis = useRedis();

  it('allows exactly the limit of each of 64 keys in 12 800 decisions, in memory and over Redis, and waits in order', async () => {
    const [file, ...args] = commandOf(program, redis.server.storeUrl);

    const { stdout } = await promisify(execFile)(file, args);
    const results = JSON.parse(stdout) as Record<'memory' | 'redis', Result>;

    for (const { allowed, asked, order } of Object.values(results)) {
      expect(asked).toBe(12_800);
      expect(allowed).toEqual(new Array(64).fill(50));
      expect(order).toEqual(Array.from({ length: 100 }, (_, i) => i));
    }
    expect(results.memory.sources).toEqual(['memory']);
    expect(results.redis.sources).toContain('redis');
    expect(await redis.admin.dbsize()).toBeGreaterThanOrEqual(64);
  });
});
