import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/express';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  allowed,
  startPlace,
  TIMEOUT_MS,
  untilShared,
  type Answer,
  type App,
  type OutageSetup,
} from './outage-place.ts';

const LIMIT = 5;
const policy = fixedWindow({ limit: LIMIT, window: '1h' });

interface Situation {
  readonly is: string;
  readonly by: 'itself' | 'proxy';
  begin: (place: OutageSetup) => unknown;
  heal: (place: OutageSetup) => unknown;
}

const PAUSE_MS = 4 * TIMEOUT_MS;

const situations: readonly Situation[] = [
  {
    is: 'hung',
    by: 'itself',
    begin: ({ server }) => {
      server.pause();
    },
    heal: ({ server }) => {
      server.resume();
    },
  },
  {
    is: 'killed',
    by: 'itself',
    begin: async ({ server }) => server.kill(),
    heal: async ({ server }) => server.restart(),
  },
  {
    is: 'denying connections',
    by: 'proxy',
    begin: ({ proxy }) => {
      proxy.deny();
      proxy.cut();
    },
    heal: async ({ proxy }) => proxy.heal(),
  },
  {
    is: 'slow',
    by: 'proxy',
    begin: ({ proxy }) => {
      proxy.delay(TIMEOUT_MS);
    },
    heal: async ({ proxy }) => proxy.heal(),
  },
  {
    is: 'half-closed, and silent to those who come again',
    by: 'proxy',
    begin: ({ proxy }) => {
      proxy.halfClose('to-client');
      proxy.hang();
    },
    heal: async ({ proxy }) => proxy.heal(),
  },
  {
    is: 'paused by CLIENT PAUSE',
    by: 'itself',
    begin: async ({ admin }) => admin.client('PAUSE', PAUSE_MS, 'ALL'),
    heal: () => undefined, // it ends by itself, for the server runs no command meanwhile
  },
];

const urlOf = ({ server, proxy }: OutageSetup, by: Situation['by']): string =>
  by === 'proxy' ? proxy.through(server.storeUrl) : server.storeUrl;

describe.each(situations)('two processes, and Redis is $is', ({ by, begin, heal }) => {
  let place: OutageSetup;
  let apps: readonly [App, App];
  let before: readonly Answer[];
  let away: readonly (readonly Answer[])[];
  let breakers: readonly string[];
  let healed: readonly Answer[];
  const ofBoth = async (count: number, key: string): Promise<readonly Answer[]> =>
    (await Promise.all(apps.map(async (app) => app.sendMany(count, key)))).flat();

  beforeAll(async () => {
    place = await startPlace();
    const url = urlOf(place, by);
    apps = [await place.start(url, { policy }), await place.start(url, { policy })];
    await untilShared(...apps);

    before = await ofBoth(2 * LIMIT, 'before');
    await begin(place);
    away = await Promise.all(apps.map(async (app) => app.sendMany(3 * LIMIT, 'away')));
    breakers = apps.map((app) => app.breaker());
    await heal(place);
    await untilShared(...apps);
    healed = await ofBoth(2 * LIMIT, 'after');
  });
  afterAll(async () => {
    await place.end();
  });

  it('answers every request, with 200 or 429', () => {
    const statuses = [...before, ...away.flat(), ...healed].map(({ status }) => status);

    expect(statuses).toHaveLength(4 * LIMIT + 6 * LIMIT + 4 * LIMIT);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  it('allows in each process what the policy allows, and no more', () => {
    expect(away.map((answers) => answers.filter(({ source }) => source === 'local').length)).toEqual([15, 15]);
    expect(away.map((answers) => allowed(answers))).toEqual([LIMIT, LIMIT]);
  });

  it('is not asked any more after so many failures', () => {
    expect(breakers).not.toContain('closed');
  });

  it('shares the limit before and, when it has healed, again', () => {
    expect(before.map(({ source }) => source)).toEqual(Array(4 * LIMIT).fill('redis'));
    expect(allowed(before)).toBe(LIMIT);
    expect(healed.map(({ source }) => source)).toEqual(Array(4 * LIMIT).fill('redis'));
    expect(allowed(healed)).toBe(LIMIT);
  });
});

describe('two processes, and Redis is flapping', () => {
  let place: OutageSetup;
  let apps: readonly [App, App];
  beforeAll(async () => {
    place = await startPlace();
    const url = urlOf(place, 'proxy');
    apps = [await place.start(url, { policy }), await place.start(url, { policy })];
    await untilShared(...apps);
  });
  afterAll(async () => {
    await place.end();
  });

  it('answers every request; those who decide allow what the policy allows each, and the limit is shared again', async () => {
    const { proxy } = place;
    let flaps = true;
    const seen: Answer[][] = [[], []];
    const sending = apps.map(async (app, i) => {
      while (flaps) seen[i]?.push(...(await app.sendMany(3, 'away')));
    });
    for (let i = 0; i < 8; i++) {
      proxy.deny();
      proxy.cut();
      await sleep(100);
      await proxy.heal();
      await sleep(100);
    }
    flaps = false;
    await Promise.all(sending);
    await untilShared(...apps);
    const healed = (await Promise.all(apps.map(async (app) => app.sendMany(2 * LIMIT, 'after')))).flat();

    expect(new Set(seen.flat().map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect(seen.map((answers) => allowed(answers, 'local'))).toEqual([LIMIT, LIMIT]);
    expect(allowed(seen.flat(), 'redis')).toBeLessThanOrEqual(LIMIT);
    expect(allowed(healed)).toBe(LIMIT);
  });
});
