import { asStoreError } from '../../../errors.ts';
import type { BatchAnswer, CoalescedRequests } from '../../../engine/batch-store.ts';
import type { KeyState, StoreCall } from '../../../engine/store.ts';
import { forkOf } from './forked-calls.ts';

/**
 * Decides a batch whose keys live on different nodes: a call each, whose decision holds even if others fail.
 *
 * @throws (rejects) the first failure, where all have failed.
 */
export async function batchOnNodes(
  keys: readonly CoalescedRequests[],
  call: StoreCall | undefined,
  send: (keys: readonly [CoalescedRequests], call: StoreCall | undefined) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  const fork = forkOf(call);
  const instants: number[] = [];
  const states = await Promise.all(
    keys.map(async (key, i): Promise<KeyState | Error> => {
      try {
        const answer = await send([key], fork());
        instants[i] = answer.atMs;
        return answer.keys[0] as KeyState | Error;
      } catch (error) {
        return asStoreError(error);
      }
    }),
  );
  const atMs = instants.find((instantMs) => instantMs > 0);
  if (atMs === undefined) throw states[0] as Error;
  return { atMs, keys: states, instants: states.map((_, i) => instants[i] ?? atMs) };
}
