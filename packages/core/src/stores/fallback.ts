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

/** A memory store that is made when it is first needed, and whose decisions say that they are local. */
export function localStore(): Store {
  let store: Store | undefined;
  return {
    source: 'local',
    perform: (requests: readonly StoreRequest[]) => (store ??= memoryStore()).perform(requests),
  };
}
