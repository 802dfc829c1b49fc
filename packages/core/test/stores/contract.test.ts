import { describeStore } from '../../src/testing/index.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { transactionStore } from '../../src/stores/transaction.ts';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parsePolicy, type Policy } from '../../src/policies/index.ts';
import { perform } from '../../src/stores/perform.ts';
import { readText, writeText } from '../../src/stores/text.ts';

describeStore('in memory', (clock) => memoryStore({ clock }));

describeStore('in the memory of this process, by its own clock', () => memoryStore());

const texts = new Map<string, string>();
describeStore('that keeps texts', (clock) =>
  transactionStore({
    source: 'texts',
    transaction(keys, decide) {
      const writes = decide(
        keys.map((key) => texts.get(key)),
        clock.now(),
      );
      for (const { key, text } of writes) {
        if (text === undefined) texts.delete(key);
        else texts.set(key, text);
      }
    },
  }),
);

interface Golden {
  readonly name: string;
  readonly value: string;
  readonly policy: Policy;
  readonly atMs: number;
  readonly figures: readonly number[];
}

// Values as released versions wrote them, and what a peek of one unit answers. Lines are only ever added.
const golden = readFileSync(new URL('golden-values.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Golden);

describe('a value that was stored before', () => {
  it.each(golden.map((one) => [one.name, one] as const))('is still read: %s', (_, { value, policy, atMs, figures }) => {
    const held = readText('key', value);
    const { figures: told } = perform(
      new Map([['key', held]]),
      'peek',
      [{ key: 'key', policy: parsePolicy(policy), cost: 1 }],
      atMs,
    );

    expect(told).toEqual([figures]);
    expect(writeText(readText('key', value))).toBe(value);
  });
});
