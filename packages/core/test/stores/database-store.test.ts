import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '@sluice/testkit';
import { sqlStore } from '../../src/stores/sql-store.ts';
import { databaseStore, type Swap, type Swapped } from '../../src/stores/database-store.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Ask } from '../../src/stores/store.ts';

const ask = (key: string): Ask => ({ key, policy: fixedWindow({ limit: 5, window: '1h' }), cost: 1, uncached: true });

it('an answer that comes late lets nothing be decided before what was written since', async () => {
  const sent: { readonly what: Swap; answer(swapped: Partial<Swapped>): void }[] = [];
  const store = databaseStore('a database', (what) => {
    return new Promise((resolve) => {
      sent.push({
        what,
        answer: (swapped) => resolve({ isDone: true, atMs: what.atMs, texts: what.texts, ...swapped }),
      });
    });
  });
  const take = async (key: string): Promise<unknown> => store.perform('take', [ask(key)]);
  const isSent = (calls: number): Promise<boolean> =>
    until(`call ${String(calls)} is sent`, () => sent.length === calls);

  const late = take('late');
  await isSent(1);
  const prompt = take('prompt');
  await isSent(2); // the late one no longer holds it back
  sent[1]?.answer({ atMs: 10_000 });
  await prompt;
  sent[0]?.answer({ atMs: 9_900 });
  await late;
  void take('prompt');
  await isSent(3);

  expect(sent[2]?.what.keys).toEqual(['prompt']);
  expect(sent[2]?.what.texts).toEqual([undefined]); // unknown: what it held was written later than the clock now says
});

it.each([undefined, null, 'a text', { code: 'ECONNREFUSED' }])(
  'an error of a driver may be anything: %j',
  async (error) => {
    const store = databaseStore('a database', () => Promise.reject(error));

    await expect(store.perform('take', [ask('ann')])).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
  },
);

it.each([
  [
    'denied',
    Object.assign(new Error('may not'), { code: '42501' }),
    /create its table things: may not; have a user with the permission run:\ncreate things \[/,
  ],
  ['connection', { code: 'ECONNREFUSED' }, /cannot create its table things/],
  ['other', new Error('disk full'), /cannot create its table things: disk full \[/],
  ['other', undefined, /cannot create its table things/],
])('a table that cannot be made is %s for %j', async (kind, error, message) => {
  const store = sqlStore({
    ...{ source: 'postgres', table: 'things', statements: ['create things'] },
    ...{ missing: '42883', denied: ['42501'], rolledBack: [] },
    query: () => Promise.reject(error),
    swap: () => Promise.reject(new Error('not called')),
  });

  await expect(store.migrate()).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED', kind, sent: false });
  await expect(store.migrate()).rejects.toThrow(message);
});

describe('a swap', () => {
  let nowMs = 0;
  beforeEach(() => {
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  /** A database that takes its time, and what it was sent. */
  const slowStore = (tookMs: number, isDone: boolean) => {
    const sent: Swap[] = [];
    const store = databaseStore('a database', (what) => {
      sent.push(what);
      nowMs += tookMs;
      return Promise.resolve({ isDone, atMs: what.atMs, texts: what.texts });
    });
    return { store, sent };
  };

  it('that another process has come before is tried again for as long as its callers wait', async () => {
    const { store, sent } = slowStore(20, false);

    const taken = store.perform('take', [ask('ann')], nowMs + 50);

    await expect(taken).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED', sent: false });
    expect(sent).toHaveLength(3);
  });

  it('counts at an instant that is older than its round trip', async () => {
    const { store, sent } = slowStore(120, true);

    for (let i = 0; i < 2; i++) await store.perform('take', [ask('ann')]);

    expect(sent.map(({ maxAgeMs }) => maxAgeMs)).toEqual([100, 240]);
  });
});
