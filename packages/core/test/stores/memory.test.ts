import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Policy } from '../../src/policies/index.ts';
import { ALLOWED, BLOCKED, REMAINING, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Op } from '../../src/stores/store.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const MINUTE = 60_000;
const twice = fixedWindow({ limit: 2, window: '1m' });

/** A store, its clock, and what asks it for a subject, or uses subjects up so that they are denied. */
function setup(maxKeys: number) {
  const clock = fakeClock();
  const store = memoryStore({ maxKeys, clock });
  const ask = (op: Op, subject: string, more?: { policy?: Policy; cost?: number; until?: number }) => {
    const { figures } = store.perform(op, [{ key: `{${subject}}:default`, policy: twice, cost: 1, ...more }]);
    const told = (place: number): number => figures[0]?.[place] ?? Number.NaN;
    const times = { retryAfterMs: told(RETRY_AFTER), blockedMs: told(BLOCKED) };
    return { allowed: told(ALLOWED) === 1, remaining: told(REMAINING), used: told(USED), ...times };
  };
  const exhaust = (...subjects: readonly string[]): void => {
    for (const subject of subjects) {
      ask('take', subject, { cost: 2 });
      ask('take', subject);
    }
  };
  return { store, clock, ask, exhaust };
}

function named(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${String(i)}`);
}

describe('a flood of new keys', () => {
  it('frees no denied key, denies no new one, and keeps the store within maxKeys', () => {
    const { store, clock, ask, exhaust } = setup(1_000);
    exhaust('attacker');

    const told = named('new', 50_000).map((subject) => [ask('take', subject).remaining, store.size <= 1_000]);

    expect(told.filter(([remaining, isWithin]) => remaining !== 1 || isWithin !== true)).toEqual([]);
    clock.advance(MINUTE - 1);
    expect(ask('take', 'attacker')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance(1);
    expect(ask('take', 'attacker').allowed).toBe(true);
  });

  it('does not make the store forget keys that are used all the while', () => {
    const { ask } = setup(100);
    const policy = fixedWindow({ limit: 100_000, window: '1m' });
    const busy = named('busy', 17);

    for (const subject of named('new', 5_000)) {
      for (const one of busy) ask('take', one, { policy });
      ask('take', subject);
    }

    expect(busy.filter((one) => ask('peek', one, { policy }).used !== 5_000)).toEqual([]);
  });
});

describe('keys that are denied', () => {
  it('are never forgotten while they are at most a quarter of maxKeys, also those that had a unit given back and took it again', () => {
    const step = fc.record({
      ...{ hot: fc.nat(9), isGivenBack: fc.boolean(), flood: fc.nat(60), floodCost: fc.constantFrom(1, 3) },
      waitMs: fc.nat(9_000),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 120 }), (steps) => {
        const { clock, ask, store } = setup(40);
        const deniedUntil = new Map<number, number>();
        let newKeys = 0;
        for (const { hot, isGivenBack, flood, floodCost, waitMs } of steps) {
          const key = `hot-${String(hot)}`;
          const isDenied = (deniedUntil.get(hot) ?? 0) > clock.atMs;
          if (isDenied && isGivenBack) for (const op of ['give', 'take'] as const) ask(op, key);
          const { allowed, retryAfterMs } = ask('take', key);
          if (isDenied) expect(allowed).toBe(false);
          if (!allowed) deniedUntil.set(hot, clock.atMs + retryAfterMs);
          for (let i = 0; i < flood; i++) ask('take', `new-${String(newKeys++)}`, { cost: floodCost }); // 3 never fits
          expect(store.size).toBeLessThanOrEqual(40);
          clock.advance(waitMs);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('keep at least the newest of them, a quarter of maxKeys, if they are more', () => {
    const { ask, exhaust } = setup(1_000);
    const flood = named('denied', 20_000);

    const freed = flood.filter((subject, i) => {
      exhaust(subject);
      return i >= 249 && ask('peek', flood[i - 249] ?? '').allowed;
    });

    expect(freed).toEqual([]);
  });

  it('push out no key that is blocked', () => {
    const { ask, exhaust } = setup(1_000);
    ask('block', 'evil', { cost: 0, until: 3_600_000 });

    exhaust(...named('denied', 20_000));

    expect(ask('take', 'evil').blockedMs).toBe(3_600_000);
  });

  it('do not include those whose denial has ended', () => {
    const { clock, ask, exhaust } = setup(1_000);
    const long = named('long', 240);
    const policy = fixedWindow({ limit: 1, window: '1h' });
    for (const subject of [...long, ...long]) ask('take', subject, { policy });
    exhaust(...named('short', 250));
    clock.advance(MINUTE);

    exhaust(...named('another', 20));

    expect(long.filter((subject) => ask('peek', subject, { policy }).allowed)).toEqual([]);
  });
});

describe('keys that have ended', () => {
  it('are removed while others come', () => {
    const { store, clock, ask } = setup(100_000);
    const sizes = named('key', 1_000).map((minute) => {
      for (const subject of named(minute, 10)) ask('take', subject);
      clock.advance(1_000);
      return store.size;
    });

    // 600 live at any time, and 300 are kept for a clock that steps back.
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_800);
  });

  it('are removed while known keys are used', () => {
    const { store, clock, ask } = setup(100_000);
    for (const subject of named('old', 1_000)) ask('take', subject);
    clock.advance(2 * MINUTE);

    for (let i = 0; i < 4_000; i++) ask('take', 'known');

    expect(store.size).toBe(1);
  });

  it('are found again by a clock that steps back', () => {
    const { clock, ask, exhaust } = setup(100);
    exhaust('early');
    clock.advance(MINUTE + 20_000);
    for (const subject of named('new', 50)) ask('take', subject);

    clock.advance(-25_000);

    expect(ask('take', 'early')).toMatchObject({ allowed: false, retryAfterMs: 5_000 });
  });

  it('leave nothing behind', () => {
    const { clock, ask } = setup(10_000);
    const comeAndGo = (round: string): void => {
      for (const subject of named(round, 50_000)) ask('take', subject);
      clock.advance(2 * MINUTE);
    };
    comeAndGo('first');
    const before = heldBytes();

    for (const round of ['second', 'third', 'fourth', 'fifth']) comeAndGo(round);

    expect(heldBytes() - before).toBeLessThan(5e6);
  });
});

describe('a key', () => {
  it('is kept without the long text that it was cut from', () => {
    const { store, ask } = setup(10_000);
    const before = heldBytes();

    for (let i = 0; i < 2_000; i++) ask('take', `${String(i)}/${'path'.repeat(4_000)}`.slice(0, 40));

    expect(store.size).toBe(2_000);
    expect(heldBytes() - before).toBeLessThan(10e6);
  });

  it('is forgotten when the store is cleared, with what it is denied, and not held for a reset', () => {
    const { store, ask, exhaust } = setup(100);
    exhaust('one', 'other');

    store.clear();
    ask('reset', 'new');

    expect(store.size).toBe(0);
    expect(ask('take', 'one').used).toBe(1);
    expect(ask('take', 'other').allowed).toBe(true);
  });
});

/** What the heap holds once all garbage is collected. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) collect();
  return process.memoryUsage().heapUsed;
}

describe('the smallest memory store', () => {
  it('denies one key, and allows others', () => {
    const { ask, exhaust } = setup(1);
    exhaust('one');

    expect(ask('take', 'other').allowed).toBe(true);
    expect(ask('take', 'one').allowed).toBe(false);
  });
});

describe('the clock of a memory store', () => {
  it('may be Date, and tells milliseconds since 1970 without it, too', () => {
    const asks = [{ key: 'key', policy: twice, cost: 1 }];
    const byDate = memoryStore({ clock: Date }).perform('peek', asks).atMs;
    const byDefault = memoryStore().perform('peek', asks).atMs;

    expect(Math.abs(byDefault - byDate)).toBeLessThan(MINUTE);
    expect(byDefault).toBe(Math.floor(byDefault));
  });

  it.each([[Number.NaN], [Infinity], [-1], [undefined as unknown as number]])(
    'that tells %p is an error of the store, and nothing is decided',
    (now) => {
      const store = memoryStore({ clock: { now: () => now } });

      expect(() => store.perform('take', [{ key: 'key', policy: twice, cost: 1 }])).toThrow(
        expect.objectContaining({ name: 'StoreError', code: 'SLUICE_STORE_FAILED' }),
      );
      expect(store.size).toBe(0);
    },
  );
});

describe('the options of a memory store', () => {
  it.each([
    [{ maxKeys: 0 }, 'SLUICE_OPTION_INVALID', 'maxKeys must be a whole number from 1 to 16000000, got 0'],
    [{ maxKeys: '5' }, 'SLUICE_OPTION_INVALID', 'maxKeys must be'],
    [{ clock: () => 5 }, 'SLUICE_OPTION_INVALID', 'clock must be an object with now()'],
    [{ max: 5 }, 'SLUICE_OPTION_UNKNOWN', 'maxKeys'],
  ])('%p are rejected', (options, code, message) => {
    expect(() => memoryStore(options as never)).toThrow(
      expect.objectContaining({ name: 'PolicyError', code, message: expect.stringContaining(message) as unknown }),
    );
  });
});
