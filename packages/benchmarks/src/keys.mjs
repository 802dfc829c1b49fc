// Not by its name: the package's index imports jest.
import { seeded } from '../../testkit/dist/random.js';

/** Drawn in advance, so that choosing a key costs next to nothing while the clock runs. A power of two. */
const DRAWS = 65_536;

/** How requests are spread over keys, with the limit of each key. */
export const SHAPES = {
  one: { says: 'one key', limit: 1e9, keys: 1, newShare: 0 },
  many: { says: '10 000 keys', limit: 1e9, keys: 10_000, newShare: 0 },
  denied: { says: 'nine of ten denied', limit: 1, keys: 10_000, newShare: 0.1 },
};

/** The keys of a shape. They are flat strings: a rope would be flattened while it is measured. */
export function keysOf({ keys }) {
  return Array.from({ length: keys }, (_, i) => Buffer.from(`client-${String(i).padStart(7, '0')}`).toString());
}

/** A function that returns the key of the next request. */
export function drawKeys(shape) {
  const keys = keysOf(shape);
  const random = seeded(1);
  const drawn = Array.from({ length: DRAWS }, () => random.pick(keys));
  const isNew = Array.from({ length: DRAWS }, () => random.percent(100 * shape.newShare));
  let at = 0;
  return () => {
    const draw = at++ & (DRAWS - 1);
    return isNew[draw] ? `new-${at}` : drawn[draw];
  };
}

/** What a process can be asked that decides over keys of a shape, and measures a slice. */
export function deciding({ consume, denies }, shape, slice) {
  return {
    slice,
    warm: async ({ ms }) => {
      const keys = keysOf(shape);
      for (let i = 0; i < keys.length; i += 500) await Promise.all(keys.slice(i, i + 500).map(consume));
      await slice({ ms });
    },
    /** For each of these decisions of one key whether it was a denial. */
    denials: async ({ times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(denies(await consume('key')));
      return seen;
    },
  };
}
