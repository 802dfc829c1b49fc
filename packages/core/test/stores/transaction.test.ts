import { describe, expect, it, jest } from '@jest/globals';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import type { Answer, Ask, Store } from '../../src/stores/store.ts';
import { transactionStore, type Decide, type Transaction, type Write } from '../../src/stores/transaction.ts';

const NOW = 1_900_000_000_000;
const policy = fixedWindow({ limit: 5, window: '1m' });
const ask = (key: string, more?: Partial<Ask>): Ask => ({ key, policy, cost: 1, ...more });

/** A store over a map of texts, and what each transaction locked and wrote. */
function keepTexts() {
  const texts = new Map<string, string>();
  const locked: (readonly string[])[] = [];
  const written: (readonly Write[])[] = [];
  const store = storeWith((keys, decide) => {
    locked.push(keys);
    const writes = decide(
      keys.map((key) => texts.get(key)),
      NOW,
    );
    for (const { key, text = '' } of writes) texts.set(key, text);
    written.push(writes);
  });
  return { store, texts, locked, written };
}

function storeWith(transaction: Transaction): Store {
  return transactionStore({ source: 'test', transaction });
}

async function perform(store: Store, ...asks: readonly Ask[]): Promise<Answer> {
  return store.perform('take', asks);
}

describe('a store over transactions', () => {
  it('names keys once each and sorted, so that their locks make no deadlock, and writes those that change', () => {
    const { store, locked, written } = keepTexts();
    void store.perform('charge', [ask('b'), ask('a'), ask('b'), ask('B')]);
    void store.perform('take', [ask('full', { cost: 5 })]);
    void store.perform('peek', [ask('full'), ask('new')]);
    void store.perform('take', [ask('full'), ask('new')]);
    void store.perform('give', [ask('new')]);
    void store.perform('give', [ask('a')]);

    const text = expect.stringMatching(/^f1/) as unknown;
    expect(locked[0]).toEqual(['B', 'a', 'b']);
    expect(written[1]).toEqual([{ key: 'full', text, expiresAtMs: NOW + 60_000 + 30_000 }]);
    expect(written.slice(2, 5)).toEqual([[], [], []]); // a peek, a denial, a key that stays as it is
    expect(written[5]).toEqual([{ key: 'a', text: undefined, expiresAtMs: 0 }]); // as if never used
  });

  it('decides at the instant that the transaction tells, in whole milliseconds', async () => {
    const store = storeWith((_keys, decide) => void decide([null], NOW + 0.9));

    expect((await perform(store, ask('key'))).atMs).toBe(NOW);
  });

  it('answers at once if the transaction does, and otherwise by a promise', async () => {
    const inTime = storeWith((_keys, decide) => void decide([undefined], NOW));
    const later = storeWith(async (_keys, decide) => {
      await Promise.resolve();
      decide([undefined], NOW);
    });

    expect(inTime.perform('take', [ask('key')])).toMatchObject({ atMs: NOW });
    expect(later.perform('take', [ask('key')])).toBeInstanceOf(Promise);
    expect(await later.perform('take', [ask('key')])).toMatchObject({ atMs: NOW });
  });

  it('decides over what a transaction reads that begins again', async () => {
    const kept = keepTexts();
    await perform(kept.store, ask('key', { cost: 5 }));
    const taken = kept.texts.get('key');
    const store = storeWith((_keys, decide) => {
      decide([undefined], NOW);
      decide([taken], NOW + 1);
    });

    const { atMs, figures } = await perform(store, ask('key'));

    expect([atMs, figures]).toEqual([NOW + 1, [[0, 0, 5, 59_999, 59_999, 59_999, 0, 0]]]);
  });
});

describe('a transaction that fails', () => {
  it('after it was decided has no answer, and is not made again', async () => {
    const lost = new Error('connection lost');
    const transaction = jest.fn((_keys: readonly string[], decide: Decide) => {
      decide([undefined], NOW);
      return Promise.reject(lost);
    });

    await expect(perform(storeWith(transaction), ask('key'))).rejects.toMatchObject({
      name: 'StoreError',
      code: 'SLUICE_STORE_FAILED',
      cause: lost,
    });
    expect(transaction).toHaveBeenCalledTimes(1);
  });

  it('at once is the same error, of a store that answers at once', () => {
    const full = new Error('disk full');
    const store = storeWith(() => {
      throw full;
    });

    expect(() => store.perform('take', [ask('key')])).toThrow(
      expect.objectContaining({ code: 'SLUICE_STORE_FAILED', cause: full }),
    );
  });

  it('because of a text that no store wrote names the form of the key, without its subject', async () => {
    const { store, texts } = keepTexts();
    texts.set('{ann}:login', 'hello');

    const failed = perform(store, ask('{bob}:login'), ask('{ann}:login'));

    await expect(failed).rejects.toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN', kind: 'key' });
    await expect(failed).rejects.toThrow('a key of the form {...}:login holds a value that Sluice did not write');
    expect(texts).toEqual(new Map([['{ann}:login', 'hello']]));
  });

  it.each<[string, Transaction]>([
    ['never asks to decide', () => undefined],
    ['brings too few texts', (_keys, decide) => void decide([], NOW)],
    ['tells an instant as text', (_keys, decide) => void decide([undefined], String(NOW) as never)],
    ['tells an instant as bigint', (_keys, decide) => void decide([undefined], BigInt(NOW) as never)],
    ['tells no instant', (_keys, decide) => void decide([undefined], Number.NaN)],
  ])('because it %s says so', async (_, transaction) => {
    await expect(perform(storeWith(transaction), ask('key'))).rejects.toMatchObject({
      code: 'SLUICE_STORE_REPLY_INVALID',
    });
  });
});

describe('the options of transactionStore', () => {
  it.each([
    [{ source: 'two words', transaction: () => undefined }, 'source must be'],
    [{ source: 'sqlite' }, 'transaction must be a function'],
    [{ source: 'sqlite', transaction: () => undefined, prefix: 'shop' }, 'prefix'],
  ])('%p are rejected', (options, message) => {
    expect(() => transactionStore(options as never)).toThrow(
      expect.objectContaining({ name: 'PolicyError', message: expect.stringContaining(message) as unknown }),
    );
  });
});
