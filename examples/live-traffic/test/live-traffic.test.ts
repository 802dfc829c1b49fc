import { ExampleProcess, freePort, startRedis, until } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';

const main = new URL('../dist/main.js', import.meta.url);

/** The last two numbers of a row: allowed or answered, and denied. */
function readRow(output: string, name: string): readonly [allowed: number, denied: number] {
  const [, allowed, denied] = new RegExp(`^${name} .* (\\d+) +(\\d+)$`, 'm').exec(output) ?? [];
  return [Number(allowed), Number(denied)];
}

describe('a run', () => {
  it('denies and allows by every limit, and denies those who wait when told next to never', async () => {
    // Longer than the window of the limit by address, for which the crawler waits.
    const demo = new ExampleProcess(main, { SECONDS: '13' });
    expect(await demo.ends()).toBe(0);

    for (const limit of ['address', 'login', 'account', 'search', 'export']) {
      expect([limit, ...readRow(demo.stdout, limit).map((count) => count > 0)]).toEqual([limit, true, true]);
    }
    for (const client of ['reader', 'crawler']) {
      const [answered, denied] = readRow(demo.stdout, client);
      expect(denied).toBeLessThanOrEqual(answered / 50);
    }
    expect(readRow(demo.stdout, 'sprayer')[0]).toBe(5);
    expect(readRow(demo.stdout, 'botnet')[0]).toBe(10);
  });

  it('allows with another one on the same Redis what one alone allows', async () => {
    const redis = await startRedis();
    // Enough for more logins than are allowed, and less than a minute, their window.
    const demos = [0, 1].map(() => new ExampleProcess(main, { SECONDS: '5', REDIS_URL: redis.storeUrl }));
    expect(await Promise.all(demos.map((demo) => demo.ends()))).toEqual([0, 0]);

    const answered = (client: string) => demos.reduce((sum, { stdout }) => sum + readRow(stdout, client)[0], 0);
    expect([answered('sprayer'), answered('botnet')]).toEqual([5, 10]);
    await redis.stop();
  });

  it('goes on in local memory without Redis, says so, and prints its table when it is stopped', async () => {
    const REDIS_URL = `redis://me:secret@127.0.0.1:${String(await freePort())}`;
    const demo = new ExampleProcess(main, { REDIS_URL });
    await until('the warning', () => demo.stderr.includes('SLUICE_STORE_AWAY'));
    demo.stop();

    expect(await demo.ends()).toBe(0);
    expect(demo.stdout).toMatch(/: 0 decisions, and [1-9]\d* in local memory/);
    expect(demo.stdout + demo.stderr).not.toContain('secret');
  });
});
