import { fixedWindow } from '../algorithms/fixed-window/policy.ts';
import { keyScope } from '../key.ts';
import { namePolicies } from '../policy.ts';
import type { StoreRequest } from './store.ts';

// A key of its own: no limiter's name begins with a minus. It is gone a moment after it was written.
const policies = namePolicies(fixedWindow({ limit: 1, window: 1 }), 'probe');
const limit = { policies, scope: keyScope('-probe', policies) };

/** Asks a store whether it decides. A write, for a store that can only be read is no help. */
export function probeRequest(subject = 'probe'): StoreRequest {
  return { op: 'block', part: { limit, subject, cost: 0 }, durationMs: 1 };
}
