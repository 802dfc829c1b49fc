// Limiters in memory, asked one decision after the other.
import { memoryContenders } from '../contenders/memory.mjs';
import { oneByOne } from '../measure/closed-loop.mjs';
import { keysOf, shapeOf, streamOf } from '../measure/shapes.mjs';
import { answer } from '../processes/answer.mjs';

answer(({ name, policies, ...asked }) => {
  const shape = shapeOf(asked);
  const contender = memoryContenders[name].make({ limit: shape.limit, mostKeys: 2_000_000, policies });
  const next = streamOf(shape);
  return {
    /** Until it is compiled, and every key is there. */
    warm: async ({ ms }) => {
      for (const key of keysOf(shape)) await contender.take(key);
      if (ms > 0) await oneByOne(contender, next, { ms });
    },
    /** Whether each of so many decisions for one key, one after the other, was a refusal. */
    refusals: async ({ key, times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(contender.refuses(await contender.take(key)));
      return seen;
    },
    slice: ({ ms }) => oneByOne(contender, next, { ms }),
  };
});
