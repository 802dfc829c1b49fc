import { seeded } from './random.mjs';

/** Drawn in advance, so that choosing a key costs next to nothing while the clock runs. A power of two. */
const DRAWS = 65_536;

/**
 * The requests: which keys in which order, and a limit that allows all, or one unit of each. `scene` is for
 * `--scene`.
 */
export const shapes = {
  one: { scene: 'hot-key', says: 'one key', limit: 1e9, keys: 1 },
  many: { scene: 'many-keys', says: '10 000 keys', limit: 1e9, keys: 10_000 },
  zipf: { scene: 'zipf', says: 'Zipf over 10 000 keys', limit: 1e9, keys: 10_000, zipf: true },
  denied: { scene: 'denied', says: '90 % denied', limit: 1, keys: 10_000, freshShare: 0.1 },
};

/** The texts of keys, by the number of each in seven digits. All of one form have one length. */
const texts = {
  plain: (digits) => `client-${digits}`,
  k: (digits) => (Number(digits) === 0 ? 'k' : `k${digits}`),
  space: (digits) => `client ${digits} of tenant-7`,
  unicode: (digits) => `клиент-${digits}`,
  long: (digits) => `client-${digits}-`.padEnd(200, 'x'),
};

/** The forms of the scene `key-forms`. The first is what the others are compared with. */
export const keyForms = {
  k: '`k`',
  space: '26 characters with a space',
  unicode: '14 characters not in ASCII',
  long: '200 characters',
};

/** A shape by its name, with another limit, number or form of keys where that is said, and no more than `mostKeys`. */
export function shapeOf({ shape, limit = shapes[shape].limit, keys = shapes[shape].keys, form, mostKeys = Infinity }) {
  return { ...shapes[shape], limit, keys: Math.min(keys, mostKeys), form };
}

/** The keys that a shape repeats. Flat: a rope would be flattened while it is measured. */
export function keysOf({ keys, form = 'plain' }) {
  const text = texts[form];
  return Array.from({ length: keys }, (_, i) => Buffer.from(text(String(i).padStart(7, '0'))).toString());
}

/**
 * A function that returns the next key.
 *
 * @param who - The number of the process, so that each has its own fresh keys.
 */
export function streamOf(shape, who = 0) {
  const keys = keysOf(shape);
  const random = seeded(1 + who);
  const indexOf = shape.zipf ? zipf(keys.length, random) : () => Math.floor(random() * keys.length);
  const length = Math.max(DRAWS, 2 ** Math.ceil(Math.log2(keys.length)));
  const drawn = Array.from({ length }, () => keys[indexOf()]);
  const isFresh = Uint8Array.from({ length }, () => Number(random() < (shape.freshShare ?? 0)));
  let at = 0;
  let fresh = 0;
  if (shape.freshShare === undefined) return () => drawn[at++ & (length - 1)];
  return () => {
    const draw = at++ & (length - 1);
    return isFresh[draw] === 1 ? `fresh-${who}-${fresh++}` : drawn[draw];
  };
}

/** An index from 0 to count - 1, the i-th with a probability in proportion to 1 / (i + 1). */
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
