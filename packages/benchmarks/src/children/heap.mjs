// Holds this many keys in memory, and reports their size. Needs --expose-gc.
import { memoryContenders } from '../contenders/memory.mjs';
import { keysOf, shapes } from '../measure/shapes.mjs';
import { answer } from '../processes/answer.mjs';

answer(({ name, keys: count, policies }) => ({
  bytes: async () => {
    const keys = keysOf({ keys: count });
    const contender = memoryContenders[name].make({ limit: shapes.many.limit, mostKeys: 2 * count, policies });
    // Creates everything that exists once, such as compiled code, before the first reading.
    for (const key of ['warm-0', 'warm-1', 'warm-2']) await contender.consume(key);
    const before = held();
    // A limiter that keeps a copy of a key has it in place of the caller's, which ends with its request.
    for (let i = 0; i < count; i++) {
      await contender.consume(keys[i]);
      keys[i] = undefined;
    }
    const after = held();
    // Both are used after the last reading, so that they are not collected earlier.
    await contender.consume(keys[0] ?? 'warm-0');
    return { bytesPerKey: (after - before) / count };
  },
}));

/** On the heap and, as typed arrays are, outside of it. */
function held() {
  for (let i = 0; i < 4; i++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
