import { seeded } from './random.mjs';

/** Drawn in advance, so that choosing a key costs next to nothing while the clock runs. A power of two. */
const DRAWS = 65_536;

/** What is asked for: which keys in which order, and a limit that admits all, or one unit of each. */
export const shapes = {
  one: { says: 'one key', limit: 1e9, keys: 1 },
  many: { says: '10 000 keys', limit: 1e9, keys: 10_000 },
  zipf: { says: 'Zipf over 10 000 keys', limit: 1e9, keys: 10_000, zipf: true },
  refused: { says: '90 % refused', limit: 1, keys: 10_000, freshShare: 0.1 },
};

/** A shape by its name, with another limit or number of keys where that is said, and no more than `mostKeys`. */
export function shapeOf({ shape, limit = shapes[shape].limit, keys = shapes[shape].keys, mostKeys = Infinity }) {
  return { ...shapes[shape], limit, keys: Math.min(keys, mostKeys) };
}

/** The keys that a shape repeats. Of one length, and flat: a rope would be flattened while it is measured. */
export function keysOf({ keys }) {
  return Array.from({ length: keys }, (_, i) => Buffer.from(`client-${String(i).padStart(7, '0')}`).toString('latin1'));
}

/**
 * A function that says the next key.
 *
 * @param who - Of several that ask at once, so that each has fresh keys of its own.
 */
export function streamOf(shape, who = 0) {
  const keys = keysOf(shape);
  const random = seeded(1 + who);
  const place = shape.zipf ? zipf(keys.length, random) : () => Math.floor(random() * keys.length);
  const length = Math.max(DRAWS, 2 ** Math.ceil(Math.log2(keys.length)));
  const drawn = Array.from({ length }, () => keys[place()]);
  const isFresh = Uint8Array.from({ length }, () => Number(random() < (shape.freshShare ?? 0)));
  let at = 0;
  let fresh = 0;
  if (shape.freshShare === undefined) return () => drawn[at++ & (length - 1)];
  return () => {
    const draw = at++ & (length - 1);
    return isFresh[draw] === 1 ? `fresh-${who}-${fresh++}` : drawn[draw];
  };
}

/** A place from 0 to count - 1, the i-th with a probability in proportion to 1 / (i + 1). */
function zipf(count, random) {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) sums[i] = sum += 1 / (i + 1);
  return () => {
    const wanted = random() * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
