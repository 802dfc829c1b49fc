import { fixedWindow } from '../algorithms/fixed-window/policy.ts';
import { keyScope } from '../key.ts';
import { namePolicies } from '../policy.ts';
import { withinDeadline } from './deadline.ts';
import type { Store, StoreCall } from './store.ts';

// A key of its own: no limiter's name begins with a minus. It is gone a moment after it was written.
const policies = namePolicies(fixedWindow({ limit: 1, window: 1 }), 'probe');
const limit = { policies, scope: keyScope('-probe', policies) };

/**
 * Asks a store whether it decides, by a write: a store that can only be read is no help.
 *
 * Rejects as the store does, and with StoreError `SLUICE_STORE_TIMEOUT`.
 *
 * @param subject - One that lives in the part of the store that is asked about.
 * @param isAwaited - Whether the process is to live until it is answered.
 */
export async function probe(store: Store, subject: string, timeoutMs: number, isAwaited: boolean): Promise<void> {
  const call: StoreCall = { abandoned: false };
  const answers = Promise.resolve(
    store.perform([{ op: 'block', part: { limit, subject, cost: 0 }, durationMs: 1 }], call),
  );
  const [answer] = await withinDeadline(answers, timeoutMs, call, isAwaited);
  if (answer instanceof Error) throw answer;
}
