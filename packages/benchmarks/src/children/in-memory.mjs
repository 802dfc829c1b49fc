// Limiters in memory, one decision after the other.
import { memoryContenders } from '../contenders/memory.mjs';
import { oneByOne } from '../measure/closed-loop.mjs';
import { keysOf, shapeOf, streamOf } from '../measure/shapes.mjs';
import { answer } from '../processes/answer.mjs';

answer(({ name, policies, ...asked }) => {
  const shape = shapeOf(asked);
  const { make } = memoryContenders[name];
  const contender = make({ limit: shape.limit, mostKeys: 2_000_000, policies });
  const next = streamOf(shape);
  return {
    /** Until the code is compiled, and every key exists. */
    warm: async ({ ms }) => {
      for (const key of keysOf(shape)) await contender.consume(key);
      if (ms > 0) await oneByOne(contender, next, { ms });
    },
    /** For each of this many decisions for one key, one after the other: whether it was a denial. */
    denials: async ({ key, times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(contender.denies(await contender.consume(key)));
      return seen;
    },
    slice: ({ ms }) => oneByOne(contender, next, { ms }),
  };
});
