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
