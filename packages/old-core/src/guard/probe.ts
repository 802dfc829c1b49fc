import { fixedWindow } from '../algorithms/fixed-window/index.ts';
import { keySuffixOf } from '../engine/key.ts';
import { namePolicies } from '../engine/policy.ts';
import { withinDeadline } from './deadline.ts';
import type { Store, StoreCall } from '../engine/store.ts';

// The probe has its own key, because no limiter's name starts with a minus. The key expires after a millisecond.
const policies = /* @__PURE__ */ namePolicies(/* @__PURE__ */ fixedWindow({ limit: 1, window: '1ms' }), 'probe');
const limit = { policies, keySuffix: /* @__PURE__ */ keySuffixOf('-probe', policies) };

/**
 * Tests a store by a write, because a read-only store is no help.
 *
 * Rejects as the store does, and with StoreError `SLUICE_STORE_TIMEOUT`.
 *
 * @param subject - A subject that lives in the tested part of the store.
 * @param isAwaited - Whether the probe keeps the process alive.
 */
export async function probe(store: Store, subject: string, timeoutMs: number, isAwaited: boolean): Promise<void> {
  const call: StoreCall = { abandoned: false, endMs: performance.now() + timeoutMs };
  const answers = Promise.resolve(
    store.perform([{ op: 'block', part: { limit, subject, cost: 0 }, durationMs: 1 }], call),
  );
  call.connecting = undefined; // the caller's timeout bounds a probe
  const [answer] = await withinDeadline(answers, timeoutMs, call, isAwaited);
  if (answer instanceof Error) throw answer;
}
