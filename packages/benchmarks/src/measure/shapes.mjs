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
  denied: { scene: 'denied', says: '90 % denied', limit: 1, keys: 10_000, freshShare: 0.1 },
};

/** What is measured on Redis: the shape, the policies of a decision, and how many are in flight. */
export const redisQuestions = [
  { scene: 'many-keys/1', says: 'one request at a time', shape: 'many', policies: 1, inFlight: 1 },
  { scene: 'many-keys/64', says: '10 000 keys', shape: 'many', policies: 1, inFlight: 64 },
  { scene: 'hot-key/64', says: 'one hot key', shape: 'one', policies: 1, inFlight: 64 },
  { scene: 'denied/64', says: '90 % denied', shape: 'denied', policies: 1, inFlight: 64 },
  { scene: 'several-policies/64', says: 'three limits', shape: 'many', policies: 3, inFlight: 64 },
];

/** A shape by its name, with another limit or number of keys where that is said, and no more than `mostKeys`. */
export function shapeOf({ shape, limit = shapes[shape].limit, keys = shapes[shape].keys, mostKeys = Infinity }) {
  return { ...shapes[shape], limit, keys: Math.min(keys, mostKeys) };
}

/** The keys that a shape repeats. Flat: a rope would be flattened while it is measured. */
export function keysOf({ keys }) {
  return Array.from({ length: keys }, (_, i) => Buffer.from(`client-${String(i).padStart(7, '0')}`).toString());
}

/**
 * A function that returns the next key.
 *
 * @param who - The number of the process, so that each has its own fresh keys.
 */
export function streamOf(shape, who = 0) {
  const keys = keysOf(shape);
  const random = seeded(1 + who);
  const length = Math.max(DRAWS, 2 ** Math.ceil(Math.log2(keys.length)));
  const drawn = Array.from({ length }, () => keys[Math.floor(random() * keys.length)]);
  const isFresh = Uint8Array.from({ length }, () => Number(random() < (shape.freshShare ?? 0)));
  let at = 0;
  let fresh = 0;
  if (shape.freshShare === undefined) return () => drawn[at++ & (length - 1)];
  return () => {
    const draw = at++ & (length - 1);
    return isFresh[draw] === 1 ? `fresh-${who}-${fresh++}` : drawn[draw];
  };
}
