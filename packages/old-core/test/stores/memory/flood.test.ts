import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  type Escalation,
  type Limiter,
  type MemoryStore,
} from '@sluice/old-core';
import { expectWarnings, fakeClock, type FakeClock } from '@sluice/testkit';

expectWarnings('SLUICE_MEMORY_SATURATED');

const policy = fixedWindow({ limit: 5, window: '15m' });
/** The keys of `byIp()` for every /64 of one /48: 393 216 requests deny them all. */
const NETWORK = Array.from({ length: 65_536 }, (_, i) => `2001:db8:1:${i.toString(16)}::/64`);
const DEFAULT_KEYS = 100_000;
/** Keys that a store holds, of any form, per key of `maxKeys`. */
const MOST = 4;

interface Setup {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly login: Limiter;
  readonly other: Limiter;
}

function setup(maxKeys = DEFAULT_KEYS, options: { readonly escalate?: Escalation } = {}): Setup {
  const clock = fakeClock();
  const store = memoryStore({ clock, maxKeys });
  return {
    store,
    clock,
    login: createLimiter({ name: 'login', policy, store, ...options }),
    other: createLimiter({ name: 'other', policy, store }),
  };
}

/** Uses keys up, until each is denied. */
async function exhaust(limiter: Limiter, keys: readonly string[]): Promise<void> {
  for (const key of keys) while ((await limiter.consume(key)).allowed);
}

function named(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${String(i)}`);
}

/** The percentage of keys that are denied when they ask once more. */
async function denied(limiter: Limiter, keys: readonly string[]): Promise<number> {
  let count = 0;
  for (const key of keys) if (!(await limiter.consume(key)).allowed) count++;
  return (100 * count) / keys.length;
}

describe('a flood of 400 000 requests from one IPv6 /48 through a login limiter, on the default store', () => {
  const { store, login, other } = setup();
  beforeAll(async () => exhaust(login, NETWORK));

  it('denies no newcomer, frees no denied key, and stays within its bound', async () => {
    expect({
      newcomers: await denied(login, named('new', 2_000)),
      newcomersOfAnother: await denied(other, named('new', 2_000)),
      stillDenied: await denied(login, NETWORK),
    }).toEqual({ newcomers: 0, newcomersOfAnother: 0, stillDenied: 100 });
    expect(store.size).toBeLessThanOrEqual(MOST * DEFAULT_KEYS);
  });

  it('takes nothing from those who log in rightly, whose units are given back', async () => {
    let wronged = 0;
    for (let round = 0; round < 10; round++) {
      for (const user of named('user', 1_000)) {
        const decision = await login.consume(user);
        if (!decision.allowed) wronged++;
        await login.refund(decision);
      }
    }

    expect(wronged).toBe(0);
  });
});

describe('an hour after a flood of keys that are blocked for a day', () => {
  it('no new user is denied, and the keys are still blocked', async () => {
    const { clock, login } = setup(DEFAULT_KEYS, { escalate: escalate({ after: 1, block: '1d', decay: '1d' }) });
    await exhaust(login, NETWORK);

    clock.advance(3_600_000);

    expect({ newUsers: await denied(login, named('new', 2_000)), blocked: await denied(login, NETWORK) }).toEqual({
      newUsers: 0,
      blocked: 100,
    });
  });
});

describe('a store in which more keys are denied than it can remember', () => {
  it('denies no newcomer, remembers half of maxKeys and as many again as maxKeys, and holds no more than it may', async () => {
    const maxKeys = 10_000;
    const { store, login, other } = setup(maxKeys);
    const flood = named('flood', 6 * maxKeys);

    await exhaust(login, flood);

    expect(store.size).toBeLessThanOrEqual(MOST * maxKeys);
    expect(await denied(login, named('new', 2_000))).toBe(0);
    expect(await denied(other, named('new', 2_000))).toBe(0);
    expect(await denied(login, flood.slice(-1.5 * maxKeys))).toBe(100);
  });

  it('frees no denied key of a limiter that has fewer than its share', async () => {
    const { login, other } = setup(1_000);
    const ofAnother = named('denied', 200);
    await exhaust(other, ofAnother);

    await exhaust(login, named('flood', 30_000));

    expect(await denied(other, ofAnother)).toBe(100);
  });

  it('ends no block by an operator, whatever the number of keys that are denied or blocked otherwise', async () => {
    const { login } = setup(1_000, { escalate: escalate({ after: 1, block: '2d', decay: '2d' }) });
    const blocked = named('blocked', 400);
    for (const key of blocked) await login.block(key, '1d');

    await exhaust(login, named('flood', 30_000));

    expect(await denied(login, blocked)).toBe(100);
  });

  it('holds none of it when all has ended', async () => {
    const { store, clock, login } = setup(1_000);
    await exhaust(login, named('flood', 5_000));

    clock.advance(3_600_000);
    for (const key of named('later', 2_000)) await login.consume(key);

    expect(store.size).toBeLessThanOrEqual(1_000);
  });

  it('uses no more memory than it states', () => {
    const child = fileURLToPath(new URL('../../children/flood.mjs', import.meta.url));

    const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', '--no-warnings', child], {
      encoding: 'utf8',
    });

    expect(status).toBe(0);
    const { megabytes, denied } = JSON.parse(stdout) as { megabytes: number; denied: number };
    expect(denied).toBe(300_000);
    expect(megabytes > 150 ? megabytes : 'below 150').toBe('below 150');
  });
});

/** FNV-1a of a text from a seed. */
function fnv(seed: number, text: string): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  return hash;
}

/** Keys of which one shares the upper bits of a victim's FNV-1a, whatever the seed: one per low 7 bits of it. */
function aimedAt(victim: string, keySuffix: string): readonly string[] {
  return Array.from({ length: 128 }, (_, seed) => {
    const target = fnv(seed, victim + keySuffix);
    for (let i = 0; ; i++) {
      const key = `aimed-${String(i)}`;
      if (Math.abs((fnv(seed, key + keySuffix) - target) | 0) < 2 ** 17) return key;
    }
  });
}

describe('keys that are chosen to be counted with a victim', () => {
  it('deny it in no store', async () => {
    const aimed = aimedAt('victim', ':login:2f');
    let hit = 0;

    for (let i = 0; i < 20; i++) {
      const { login } = setup(2);
      await exhaust(login, ['denied', ...aimed]);
      hit += await denied(login, ['victim']);
    }

    expect(hit).toBe(0);
  });
});
