import { decide } from './decide.ts';
import { editKey } from './edits.ts';
import type { Evaluation } from './evaluation.ts';
import { migrateStates, hasPolicyVersions } from './migrate-state.ts';
import type { KeyState, StoreRequest } from './store.ts';

/**
 * Performs one request on decoded states, at one instant: the general script, in TypeScript. The memory store runs
 * it on its own states, the Redis store on the values that the script found, so that both decide by the same
 * kernels.
 *
 * @param keys - The state of each part's key, in order; the same object where two parts name one key.
 */
export function evaluate(request: StoreRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  if (!hasPolicyVersions('parts' in request ? request.parts : [request.part])) return perform(request, keys, nowMs);
  const held = request.op === 'peek' ? copiesOf(keys) : keys; // a peek writes nothing, not even a converted state
  const stale = migrateStates(request, held, nowMs);
  return stale === undefined
    ? perform(request, held, nowMs)
    : { answer: { atMs: nowMs, parts: [], stale }, changed: false };
}

/** The same object where two are one key. */
function copiesOf(keys: readonly KeyState[]): readonly KeyState[] {
  const copies = new Map<KeyState, KeyState>();
  return keys.map((key) => {
    const copy = copies.get(key) ?? { ...key };
    copies.set(key, copy);
    return copy;
  });
}

function perform(request: StoreRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  return 'parts' in request ? decide(request, keys, nowMs) : editKey(request, keys[0], nowMs);
}
