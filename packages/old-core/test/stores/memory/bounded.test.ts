import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Decision,
  type Limiter,
  type MemoryStore,
  type StoreRequest,
} from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { expectWarnings, fakeClock, type FakeClock, seeded, testSeed } from '@sluice/testkit';

expectWarnings('SLUICE_MEMORY_SATURATED');

interface Setup {
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly limiter: Limiter;
}

function setup(maxKeys: number, limit = 2): Setup {
  const clock = fakeClock();
  const store = memoryStore({ maxKeys, clock });
  return { store, clock, limiter: createLimiter({ policy: fixedWindow({ limit, window: '1m' }), store }) };
}

/** Uses a key up, so that it is being denied. */
async function exhaust(limiter: Limiter, key: string): Promise<void> {
  while ((await limiter.consume(key)).allowed);
}

describe('a flood of a million random keys', () => {
  it('frees no denied key, locks no key out, and stays within maxKeys', async () => {
    const { store, clock, limiter } = setup(1_000);
    const random = seeded(testSeed(7));
    await exhaust(limiter, 'attacker');
    const before = await limiter.peek('attacker');
    const policies = namePolicies(fixedWindow({ limit: 2, window: '1m' }), 'flood');
    const limit = { policies, keySuffix: keySuffixOf('flood', policies) };
    const newcomer = (): StoreRequest => ({
      op: 'consume',
      parts: [{ limit, subject: String(random.integer(0, 2 ** 50)), cost: 1 }],
    });
    let lockedOut = 0;
    let largest = 0;

    for (let i = 0; i < 1_000; i++) {
      const answers = store.perform(Array.from({ length: 1_000 }, newcomer));
      lockedOut += answers.filter(({ parts }) => parts[0]?.policies[0]?.allowed !== true).length;
      largest = Math.max(largest, store.size);
    }

    expect(await limiter.peek('attacker')).toEqual(before);
    clock.advance((before.retryAfterMs ?? 0) - 1);
    expect((await limiter.consume('attacker')).allowed).toBe(false);
    clock.advance(1);
    expect((await limiter.consume('attacker')).allowed).toBe(true);
    expect({ lockedOut, largest }).toEqual({ lockedOut: 0, largest: 1_000 });
  });

  it('does not end a block', async () => {
    const { limiter } = setup(100);
    await limiter.block('blocked', '30s');

    for (let i = 0; i < 10_000; i++) await limiter.consume(`key-${String(i)}`);

    expect(await limiter.consume('blocked')).toMatchObject({
      allowed: false,
      outcome: 'blocked',
      retryAfterMs: 30_000,
    });
  });

  it('does not make keys forget that are used all the while', async () => {
    const { limiter } = setup(100, 1_000_000);

    for (let i = 0; i < 5_000; i++) {
      await limiter.consume('busy');
      await limiter.consume(`key-${String(i)}`);
    }

    expect((await limiter.peek('busy')).remaining).toBe(1_000_000 - 5_000);
  });
});

describe('an edit of a key that is being denied', () => {
  it.each<[string, (limiter: Limiter, taken: Decision) => Promise<void>]>([
    ['a short block', async (limiter) => limiter.block('bad', '1s')],
    ['the end of a block', async (limiter) => limiter.unblock('bad')],
    ['a unit given back, and taken again', async (limiter, taken) => limiter.refund(taken, 1)],
  ])('%s does not let a flood free it', async (_what, edit) => {
    const { clock, limiter } = setup(1_000, 3);
    const taken = await limiter.consume('bad', 3);
    await exhaust(limiter, 'bad');

    await edit(limiter, taken);
    clock.advance(1_000);
    for (let i = 0; i < 1_500; i++) await limiter.consume(`new-${String(i)}`);

    expect((await limiter.consume('bad', 3)).allowed).toBe(false);
  });
});

describe('while fewer than half of maxKeys are being denied', () => {
  it('newcomers have keys of their own', async () => {
    const { limiter } = setup(1_000);
    for (let i = 0; i < 499; i++) await exhaust(limiter, `denied-${String(i)}`);

    for (let i = 0; i < 200; i++) expect((await limiter.consume(`new-${String(i)}`)).remaining).toBe(1);
  });
});

describe('once half of maxKeys are being denied', () => {
  const saturate = async (limiter: Limiter, half: number): Promise<void> => {
    for (let i = 0; i < half; i++) await exhaust(limiter, `denied-${String(i)}`);
  };

  it('newcomers have keys of their own, and the store stays bounded', async () => {
    const { store, limiter } = setup(1_000);
    await saturate(limiter, 500);

    const decisions = await Promise.all(Array.from({ length: 50_000 }, (_, i) => limiter.consume(`new-${String(i)}`)));

    expect(decisions.filter(({ remaining }) => remaining === 1)).toHaveLength(50_000);
    expect(store.size).toBeLessThanOrEqual(1_000 + 2 * 8_192);
  });

  it('exactly one warning of the process says so', () => {
    const child = fileURLToPath(new URL('../../children/saturate.mjs', import.meta.url));

    const { stdout, status } = spawnSync(process.execPath, ['--no-warnings', child], { encoding: 'utf8' });

    expect({ status, warnings: stdout.trim().split('\n') }).toEqual({
      status: 0,
      warnings: ['SLUICE_MEMORY_SATURATED'],
    });
  });

  it('those denied stay denied, and those known keep what they have left', async () => {
    const { limiter } = setup(1_000);
    await limiter.consume('known');
    await saturate(limiter, 500);
    const before = await limiter.peek('denied-250');

    for (let i = 0; i < 5_000; i++) await limiter.consume(`new-${String(i)}`);

    expect(await limiter.peek('denied-250')).toEqual(before);
    expect((await limiter.peek('known')).remaining).toBe(1);
  });

  it('newcomers have keys of their own when the denials have ended', async () => {
    const { clock, limiter } = setup(1_000);
    await saturate(limiter, 500);
    for (let i = 0; i < 5_000; i++) await limiter.consume(`new-${String(i)}`);

    clock.advance(60_000);

    for (let i = 0; i < 300; i++) expect((await limiter.consume(`later-${String(i)}`)).remaining).toBe(1);
  });
});

describe('while more than half of maxKeys are being denied', () => {
  const saturated = async (maxKeys: number): Promise<Setup> => {
    const made = setup(maxKeys);
    for (let i = 0; i * 2 <= maxKeys; i++) await exhaust(made.limiter, `denied-${String(i)}`);
    return made;
  };

  it('all keys of one request are decided by what they have used', async () => {
    const { store, limiter } = setup(2_048);
    const names = Array.from({ length: 1_024 }, (_, i) => String(i));
    for (const name of names) await exhaust(limiter, name);
    const policies = namePolicies(fixedWindow({ limit: 2, window: '1m' }), 'default');
    const limit = { policies, keySuffix: keySuffixOf('default', policies) };
    const parts = [...names, 'newcomer'].map((subject) => ({ limit, subject, cost: 1 }));

    const [answer] = store.perform([{ op: 'peek', parts }]);

    expect(answer?.parts.map((part) => part.policies[0]?.remaining)).toEqual([...names.map(() => 0), 2]);
  });

  it('a block is of the blocked key alone, and outlasts them', async () => {
    const { clock, limiter } = await saturated(10);

    await limiter.block('evil', '1d');
    const innocent = await Promise.all(Array.from({ length: 5_000 }, (_, i) => limiter.peek(`new-${String(i)}`)));
    clock.advance(120_000);
    for (let i = 0; i < 100; i++) await limiter.consume(`later-${String(i)}`);

    expect(innocent.filter(({ outcome }) => outcome === 'blocked')).toEqual([]);
    expect((await limiter.consume('evil')).outcome).toBe('blocked');
  });

  it('resetting or unblocking a newcomer frees that key, and no other', async () => {
    const { limiter } = await saturated(10);
    const newcomers = Array.from({ length: 5_000 }, (_, i) => `new-${String(i)}`);
    for (const key of newcomers) await limiter.consume(key);
    const before = await Promise.all(newcomers.map((key) => limiter.peek(key)));

    await limiter.reset('new-0');
    await limiter.unblock('new-1');

    expect(await Promise.all(newcomers.slice(1).map((key) => limiter.peek(key)))).toEqual(before.slice(1));
    expect((await limiter.peek('new-0')).remaining).toBe(2);
  });

  it('a refund gives nothing of what others took', async () => {
    const { limiter } = setup(4);
    const taken = await limiter.consume('a', 2);
    for (const key of ['b', 'c', 'd', 'e']) await limiter.consume(key);
    await exhaust(limiter, 'd');
    await exhaust(limiter, 'e');
    const newcomers = Array.from({ length: 5_000 }, (_, i) => `new-${String(i)}`);
    for (const key of newcomers) await exhaust(limiter, key);

    await limiter.refund(taken);

    const allowed = await Promise.all(newcomers.map(async (key) => (await limiter.peek(key)).allowed));
    expect(allowed).not.toContain(true);
  });

  it('a flood on one limiter pushes out no denied key of another', async () => {
    const { store, limiter } = await saturated(10);
    const other = createLimiter({ name: 'other', policy: fixedWindow({ limit: 2, window: '1m' }), store });
    await exhaust(other, 'client');

    for (let i = 0; i < 5_000; i++) await limiter.consume(`new-${String(i)}`);

    expect((await other.consume('client')).allowed).toBe(false);
  });
});

describe('many denials that end at once', () => {
  it('are let go a hundred at a time, while newcomers have keys of their own', async () => {
    const { store, clock, limiter } = setup(10_000);
    for (let i = 0; i < 5_000; i++) await exhaust(limiter, `denied-${String(i)}`);
    clock.advance(60_000);

    for (let i = 0; i < 200; i++) expect((await limiter.consume(`new-${String(i)}`)).remaining).toBe(1);

    expect(store.size).toBeLessThanOrEqual(10_000);
  });
});

describe('what a store holds on to', () => {
  it('does not grow with the keys that have come and gone', () => {
    const child = fileURLToPath(new URL('../../children/come-and-go.mjs', import.meta.url));

    const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', child], { encoding: 'utf8' });

    expect(status).toBe(0);
    for (const [what, megabytes] of Object.entries(JSON.parse(stdout) as Record<string, number>)) {
      expect({ what, grew: megabytes > 5 ? megabytes : 'hardly' }).toEqual({ what, grew: 'hardly' });
    }
  });
});

describe('a key that is cut from a long text', () => {
  it('keeps none of that text', () => {
    const child = fileURLToPath(new URL('../../children/cut-keys.mjs', import.meta.url));

    const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', child], { encoding: 'utf8' });

    expect(status).toBe(0);
    const { grown, kept } = JSON.parse(stdout) as { grown: Record<string, number>; kept: number };
    expect(kept).toBe(4_000);
    for (const [what, megabytes] of Object.entries(grown)) {
      expect({ what, grew: megabytes > 15 ? megabytes : 'hardly' }).toEqual({ what, grew: 'hardly' });
    }
  });
});

describe('a cost that can never fit', () => {
  it('does not count as a key that is being denied', async () => {
    const { limiter } = setup(100);
    for (let i = 0; i < 1_000; i++) await limiter.consume(`greedy-${String(i)}`, 3);

    expect((await limiter.consume('new')).remaining).toBe(1);
  });
});

describe('keys that are over', () => {
  it('make room a minute later: the store holds no more than twice what is kept', async () => {
    const { store, clock, limiter } = setup(100_000);
    let largest = 0;

    for (let second = 0; second < 1_000; second++) {
      for (let i = 0; i < 10; i++) await limiter.consume(`key-${String(second)}-${String(i)}`);
      if (store.size > largest) largest = store.size;
      clock.advance(1_000);
    }

    // At any time 600 of them live, and as many are kept for a clock that steps back.
    expect(largest).toBeLessThanOrEqual(2_400);
  });

  it('are not held once they were reset', async () => {
    const { store, limiter } = setup(100);

    await limiter.consume('one');
    await limiter.reset('one');

    expect(store.size).toBe(0);
  });
});

describe('a store of the smallest size', () => {
  it('denies one key, and allows others', async () => {
    const { store, limiter } = setup(1);
    await exhaust(limiter, 'one');

    await limiter.consume('other');

    expect((await limiter.consume('one')).allowed).toBe(false);
    expect(store.size).toBe(2);
  });
});

describe('a slot that was taken when the store was full of denied keys', () => {
  const saturated = async (): Promise<{ slots: Limiter; others: Limiter }> => {
    const store = memoryStore({ maxKeys: 4, clock: fakeClock() });
    const others = createLimiter({ name: 'others', policy: fixedWindow({ limit: 1, window: '1h' }), store });
    const slots = createLimiter({ name: 'slots', policy: concurrency({ limit: 2, ttl: '1m' }), store });
    for (const key of ['a', 'b']) await exhaust(others, key);
    return { slots, others };
  };

  it('is renewed and released', async () => {
    const { slots } = await saturated();
    const { decision, release, renew } = await slots.acquire('key');
    expect(decision.remaining).toBe(1);

    expect(await renew()).toBe(true);
    await release();

    expect((await slots.peek('key')).remaining).toBe(2);
  });

  it('is released after there was room again', async () => {
    const { slots, others } = await saturated();
    const earlier = await slots.acquire('key');
    for (const key of ['a', 'b']) await others.reset(key);
    const later = await slots.acquire('key');
    expect((await slots.peek('key')).remaining).toBe(0);

    await earlier.release();
    expect(await later.renew()).toBe(true);
    await later.release();

    expect((await slots.peek('key')).remaining).toBe(2);
  });
});

describe('a slot that is held', () => {
  it('is not forgotten for newer keys, until it is released', async () => {
    const store = memoryStore({ maxKeys: 10, clock: fakeClock() });
    const window = fixedWindow({ name: 'window', limit: 1_000, window: '1h' });
    const slots = createLimiter({ policy: [concurrency({ name: 'slots', limit: 1, ttl: '1m' }), window], store });
    const others = createLimiter({ name: 'others', policy: fixedWindow({ limit: 5, window: '1h' }), store });
    const held = await slots.acquire('key');

    for (let i = 0; i < 100; i++) await others.consume(`other-${String(i)}`);
    expect(await held.renew()).toBe(true);
    expect((await slots.acquire('key')).decision.allowed).toBe(false);
    await held.release();
    for (let i = 0; i < 100; i++) await others.consume(`another-${String(i)}`);

    expect(store.size).toBeLessThanOrEqual(10);
  });
});
