import { describe, expect, it } from '@jest/globals';
import { ALLOWED, BLOCKED, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Op } from '../../src/stores/store.ts';
import { ProgramStore } from './stores.ts';

const policy = fixedWindow({ limit: 2, window: '1m', blockFor: '10m' });
const ask = { key: 'one', policy, cost: 1 };

/** Both units are used. */
function full(): ProgramStore {
  const store = new ProgramStore();
  store.perform('take', [{ ...ask, cost: 2 }]);
  return store;
}

const figure = (store: ProgramStore, place: number, op: Op = 'peek', cost = 1): number | undefined =>
  store.perform(op, [{ ...ask, cost }]).figures[0]?.[place];

describe('blockFor', () => {
  it('starts by a request that its policy denies, which waits for the block', () => {
    const store = full();

    const { figures } = store.perform('take', [ask]);

    expect(figures).toEqual([[0, 0, 2, 600_000, 600_000, 600_000, 0, 600_000]]);
  });

  it('is not made longer by a denial while it lasts', () => {
    const store = full();
    store.perform('take', [ask]);
    store.clock.advance(599_999);

    expect(figure(store, RETRY_AFTER, 'take')).toBe(1);
    store.clock.advance(1);
    expect(figure(store, ALLOWED, 'take')).toBe(1);
  });

  it('waits for its policy if that denies for longer', () => {
    const short = { ...ask, policy: fixedWindow({ limit: 1, window: '1m', blockFor: '1s' }) };
    const store = new ProgramStore();
    store.perform('take', [short]);

    const { figures } = store.perform('take', [short]);

    expect(figures[0]?.[RETRY_AFTER]).toBe(60_000);
    expect(figures[0]?.[BLOCKED]).toBe(1_000);
  });

  it.each(['peek', 'try'] as const)('does not start by a %s', (op) => {
    const store = full();
    store.perform(op, [ask]);

    expect(figure(store, BLOCKED)).toBe(0);
  });

  it('does not start by a cost that never fits', () => {
    const store = new ProgramStore();

    expect(figure(store, RETRY_AFTER, 'take', 3)).toBe(-1);
    expect(figure(store, BLOCKED)).toBe(0);
  });

  it('does not start with a limit of 0', () => {
    const store = new ProgramStore();
    const none = { ...ask, policy: fixedWindow({ limit: 0, window: '1m', blockFor: '10m' }) };

    const { figures } = store.perform('take', [none]);

    expect(figures[0]?.[BLOCKED]).toBe(0);
  });

  it('does not start by a denial of another policy', () => {
    const store = full();
    const other = { ...ask, key: 'other' };
    store.perform('take', [ask, other]);

    const { figures } = store.perform('peek', [other]);

    expect(figures[0]?.[BLOCKED]).toBe(0);
  });
});

describe('a block', () => {
  it('ends by itself, and leaves what is used', () => {
    const store = full();
    store.perform('block', [{ ...ask, cost: 0, until: 1_000 }]);

    expect(figure(store, BLOCKED)).toBe(1_000);
    store.clock.advance(1_000);
    expect(figure(store, BLOCKED)).toBe(0);
    expect(figure(store, USED)).toBe(2);
  });

  it('resets with a cost', () => {
    const store = full();
    store.perform('block', [{ ...ask, cost: 1, until: 1_000 }]);

    expect(figure(store, USED)).toBe(0);
  });

  it('is ended by one of 0 ms', () => {
    const store = full();
    store.perform('block', [{ ...ask, cost: 0, until: 1_000 }]);
    store.perform('block', [{ ...ask, cost: 0, until: 0 }]);

    expect(figure(store, BLOCKED)).toBe(0);
  });

  it('is kept by a reset', () => {
    const store = full();
    store.perform('block', [{ ...ask, cost: 0, until: 1_000 }]);
    store.perform('reset', [ask]);

    expect(figure(store, BLOCKED)).toBe(1_000);
    expect(figure(store, USED)).toBe(0);
  });
});
