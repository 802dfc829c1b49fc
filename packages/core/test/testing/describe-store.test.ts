import * as nodeTest from 'node:test';
import { describe, expect, it } from '@jest/globals';
import { type Store } from '../../src/stores/store.ts';
import { transactionStore, type Transaction } from '../../src/stores/transaction.ts';
import { describeStore, type Runner, fakeClock } from '../../src/testing/index.ts';

/** Runs the suite over a store with this transaction, and returns the tests that fail. */
async function failuresOf(transaction: Transaction, others?: Partial<Store>): Promise<string[]> {
  const tests: [name: string, run: () => Promise<void>][] = [];
  const runner: Runner = {
    describe: (_, define) => {
      define();
    },
    it: (name, run) => tests.push([name, run]),
  };
  describeStore('with a fault', () => ({ ...transactionStore({ source: 'test', transaction }), ...others }), runner);
  const failed: string[] = [];
  await Promise.all(tests.map(async ([name, run]) => run().catch(() => failed.push(name))));
  return failed;
}

/** What a transaction does right, but for a fault in the names of keys or in their texts. */
function keepIn(texts: Map<string, string>, nameKey = asGiven, writeText = asGiven): Transaction {
  return (keys, decide) => {
    const read = keys.map((key) => texts.get(nameKey(key)));
    for (const { key, text } of decide(read, Date.now())) {
      if (text === undefined) texts.delete(nameKey(key));
      else texts.set(nameKey(key), writeText(text));
    }
  };
}

function asGiven(text: string): string {
  return text;
}

describe('describeStore', () => {
  it('passes for a store that keeps what it is given', async () => {
    expect(await failuresOf(keepIn(new Map()))).toEqual([]);
  });

  const sleepy = (texts: Map<string, string>): Transaction => {
    return async (keys, decide) => {
      const read = keys.map((key) => texts.get(key));
      await Promise.resolve();
      for (const { key, text = '' } of decide(read, Date.now())) texts.set(key, text);
    };
  };
  const forgetful = (texts: Map<string, string>): Transaction => {
    let calls = 0;
    return (keys, decide) => {
      if (++calls % 50 === 0) texts.clear();
      return keepIn(texts)(keys, decide);
    };
  };
  const merging = (nameKey: (key: string) => string) => (texts: Map<string, string>) => keepIn(texts, nameKey);
  const ALIKE = ['tells keys apart that look alike'];
  const AT_ONCE = ['decides over several keys at once, all or nothing', 'counts each of many charges at once'];

  it.each<[what: string, make: (texts: Map<string, string>) => Transaction, failed: string[]]>([
    ['reads before it locks', sleepy, AT_ONCE],
    ['forgets some keys', forgetful, ['decides as the memory does: slidingLog']],
    ['does not tell keys apart by case', merging((key) => key.toLowerCase()), ALIKE],
    ['does not tell keys apart by spaces at the end', merging((key) => key.replace(/ +\}/, '}')), ALIKE],
    ['does not tell keys apart by accents', merging((key) => key.normalize('NFC')), ALIKE],
    ['does not tell keys apart by what comes after a hundred characters', merging((key) => key.slice(0, 100)), ALIKE],
  ])('fails for a store that %s', async (_, make, failed) => {
    expect(await failuresOf(make(new Map()))).toEqual(expect.arrayContaining(failed));
  });

  it('fails, and in one test, for a store that cuts long texts, or whose close() fails the second time', async () => {
    const cutting = keepIn(new Map(), asGiven, (text) => text.slice(0, 16_384));
    let isClosed = false;
    const close = (): void => {
      if (isClosed) throw new Error('closed');
      isClosed = true;
    };

    expect(await failuresOf(cutting)).toEqual(['keeps the thousand entries of a log']);
    expect(await failuresOf(keepIn(new Map()), { close })).toEqual(['closes, also twice']);
  });

  it.each([
    ['no module', {}],
    ['one without it', { describe: () => undefined }],
  ])('needs a test runner, not %s', (_, runner) => {
    expect(() => {
      describeStore('x', () => transactionStore({ source: 'test', transaction: keepIn(new Map()) }), runner);
    }).toThrow(/describeStore needs a test runner with describe and it, got none with (describe|it): pass its module/);
  });

  it('takes the module of node:test by its type', () => {
    expect(nodeTest satisfies Partial<Runner>).toHaveProperty('describe');
  });
});

describe('a fake clock', () => {
  it('moves on, and back, when a test moves it', () => {
    const clock = fakeClock(1_000);

    clock.advance(59_999.5);
    expect(clock.now()).toBe(60_999.5);
    clock.advance(-60_000);
    expect(clock.atMs).toBe(999.5);
    clock.atMs = 5;
    expect(clock.now()).toBe(5);
  });
});
