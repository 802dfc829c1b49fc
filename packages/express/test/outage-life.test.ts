import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { fixedWindow } from '@sluice/express';
import { allowed, startPlace, untilShared, type OutageSetup } from './outage-place.ts';

const policy = fixedWindow({ limit: 5, window: '1h' });

let place: OutageSetup;
beforeAll(async () => {
  place = await startPlace();
});
afterAll(async () => {
  await place.end();
});

describe('closing a limiter while Redis hangs', () => {
  it('settles: who waits for a decision gets one, and close does not wait for Redis', async () => {
    const app = await place.start(place.server.storeUrl, { policy });
    await untilShared(app);
    place.server.pause();
    const waiting = app.sendMany(3, 'closing');

    try {
      while (app.inFlight() < 3) await new Promise(setImmediate);
      await app.closeLimiter();
      const answers = await waiting;

      expect(answers.map(({ status, source }) => [status, source])).toEqual(Array(3).fill([200, 'local']));
    } finally {
      place.server.resume();
    }
  });

  it('settles with an open breaker, too, and asks no more', async () => {
    const app = await place.start(place.server.storeUrl, { policy });
    await untilShared(app);
    place.server.pause();

    try {
      await app.sendMany(6, 'opening');
      expect(app.breaker()).not.toBe('closed');
      await app.closeLimiter();

      expect(app.breaker()).toBe('closed');
      expect(await app.send('late')).toMatchObject({ status: 500, body: 'SLUICE_LIMITER_CLOSED' });
    } finally {
      place.server.resume();
    }
  });
});

describe('Redis that is down when the application starts', () => {
  it('is used as soon as it comes up, and until then each process decides by itself', async () => {
    await place.server.kill();
    const apps = [
      await place.start(place.server.storeUrl, { policy }),
      await place.start(place.server.storeUrl, { policy }),
    ];
    const down = await Promise.all(apps.map(async (app) => app.sendMany(8, 'down')));

    await place.server.restart();
    await untilShared(...apps);
    const up = (await Promise.all(apps.map(async (app) => app.sendMany(8, 'up')))).flat();

    expect(down.map((answers) => allowed(answers, 'local'))).toEqual([5, 5]);
    expect(allowed(up, 'redis')).toBe(5);
    expect(new Set([...down.flat(), ...up].map(({ status }) => status))).toEqual(new Set([200, 429]));
  });
});

describe('a process with an open breaker and nothing left to do', () => {
  it.each([
    ['gone', 'theirs'],
    ['hung', 'theirs'],
    ['gone', 'ours'],
    ['hung', 'ours'],
  ])('ends by itself: Redis is %s, the connection %s', async (how, whose) => {
    if (how === 'gone') await place.server.kill();
    else place.server.pause();

    const end = await endOf([place.server.storeUrl, whose]).finally(async () => {
      if (how === 'gone') await place.server.restart();
      else place.server.resume();
    });

    expect(end).toEqual({ code: 0, said: 'open' });
  });
});

/** What became of a process; its code is null when it had to be ended. */
async function endOf(args: readonly string[]): Promise<{ code: unknown; said: string }> {
  const script = fileURLToPath(new URL('children/open-breaker.mjs', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  });
  let said = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  const [code] = (await once(child, 'close')) as unknown[];
  return { code, said };
}
