import { StoreError } from '../errors.ts';
import { memoryStore } from './memory/memory-store.ts';
import type { Store, StoreAnswers, StoreCall, StoreRequest } from './store.ts';

/**
 * What decides when the store does not: a memory store of this process, nobody (the request passes or is refused), or
 * an error.
 */
export type OnStoreError = 'local' | 'allow' | 'deny' | 'throw';

/**
 * Waits for a store no longer than `timeoutMs`. What comes later is ignored: it may have counted, so nothing is sent
 * again.
 *
 * Rejects with StoreError: `SLUICE_STORE_TIMEOUT`, or what the store failed with.
 */
export async function withinDeadline(
  answers: Promise<StoreAnswers>,
  timeoutMs: number,
  call: StoreCall,
): Promise<StoreAnswers> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      call.abandoned = true;
      call.onAbandoned?.();
      reject(
        new StoreError(
          'SLUICE_STORE_TIMEOUT',
          `the store did not decide within ${String(timeoutMs)} ms (timeoutMs); the request may have counted`,
        ),
      );
    }, timeoutMs);
  });
  try {
    return await Promise.race([answers, late]);
  } finally {
    clearTimeout(timer);
  }
}

const standIns = new WeakMap<Store, Store>();

/**
 * The memory store that stands in for a store while it is away, made when it is first needed: one for all limiters of
 * that store, so that those which count together go on doing so. Its decisions say that they are local.
 */
export function localStore(store: Store): Store {
  let standIn = standIns.get(store);
  if (standIn === undefined) {
    let memory: Store | undefined;
    standIn = {
      source: 'local',
      perform: (requests: readonly StoreRequest[]) => (memory ??= memoryStore()).perform(requests),
    };
    standIns.set(store, standIn);
  }
  return standIn;
}
