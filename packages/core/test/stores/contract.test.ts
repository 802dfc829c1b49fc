import { describeStore } from '../../src/testing/index.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { transactionStore } from '../../src/stores/transaction.ts';

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
