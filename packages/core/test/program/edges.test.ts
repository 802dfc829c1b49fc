import { describe, expect, it } from '@jest/globals';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { RESET_AFTER, USED } from '../../src/program/decide.ts';
import { ProgramStore } from './stores.ts';

describe('a sliding window', () => {
  it('keeps its other blocks where they are if one between them is given back', () => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: slidingWindow({ limit: 9, window: '10s', precision: '1s' }), cost: 2 };
    const until = [0, 1, 2].map(() => {
      const { atMs, figures } = store.perform('take', [ask]);
      store.clock.advance(1_000);
      return atMs + (figures[0]?.[RESET_AFTER] ?? 0);
    });
    store.perform('give', [{ ...ask, until: until[1] }]);

    // The first block has the milliseconds 0 to 999, and leaves a window after the last of them.
    store.clock.advance(7_998);
    expect(store.perform('peek', [ask]).figures[0]?.[USED]).toBe(4);
    store.clock.advance(1);
    expect(store.perform('peek', [ask]).figures[0]?.[USED]).toBe(2);
  });
});

describe('a sliding log', () => {
  it('has at most a thousand entries, the last of which takes what comes later', () => {
    const store = new ProgramStore();
    const ask = { key: 'one', policy: slidingLog({ limit: 1_000, window: '1d' }), cost: 1 };
    for (let i = 0; i < 1_200; i++) {
      store.perform('charge', [ask]);
      store.clock.advance(1);
    }

    const numbers = store.keys.get('one')?.s.length ?? 0;

    expect((numbers - 4) / 3).toBe(1_000);
    expect(store.perform('peek', [ask]).figures[0]?.[USED]).toBe(1_200);
  });
});
