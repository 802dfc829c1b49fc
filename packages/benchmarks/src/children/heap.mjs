// Holds so many keys in memory, and says what they take. Needs --expose-gc.
import { memoryContenders } from '../contenders/memory.mjs';
import { keysOf, shapes } from '../measure/shapes.mjs';
import { answer } from '../processes/answer.mjs';

answer(({ name, keys: count, policies }) => ({
  bytes: async () => {
    const keys = keysOf({ keys: count });
    const contender = memoryContenders[name].make({ limit: shapes.many.limit, mostKeys: 2 * count, policies });
    // Whatever is made once, such as compiled code, is there before the first look.
    for (const key of ['warm-0', 'warm-1', 'warm-2']) await contender.take(key);
    const before = held();
    for (const key of keys) await contender.take(key);
    const after = held();
    // Both are used after the last look, so that the collector cannot have taken them.
    await contender.take(keys[0]);
    return { bytesPerKey: (after - before) / count };
  },
}));

/** On the heap and, such as typed arrays, beside it. */
function held() {
  for (let i = 0; i < 4; i++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
