import { MOST_BYTES, MOST_KEYS, workOf } from '../../engine/batch-store.ts';
import { partsOf, type StoreRequest } from '../../engine/store.ts';

/** Splits a list, in order, into lists that fit into one call each. */
export function withinBounds(requests: readonly StoreRequest[]): readonly (readonly StoreRequest[])[] {
  const calls: StoreRequest[][] = [];
  let call: StoreRequest[] = [];
  let work = 0;
  let bytes = 0;
  for (const request of requests) {
    const parts = partsOf(request);
    const added = parts.reduce((sum, { limit }) => sum + workOf(limit), 0);
    const size = parts.reduce(
      (sum, { subject, limit }) =>
        sum + Buffer.byteLength(subject) + limit.keySuffix.length + 64 * (1 + limit.policies.length),
      0,
    );
    if (call.length > 0 && (work + added > MOST_KEYS || bytes + size > MOST_BYTES)) {
      calls.push(call);
      [call, work, bytes] = [[], 0, 0];
    }
    call.push(request);
    work += added;
    bytes += size;
  }
  if (call.length > 0) calls.push(call);
  return calls;
}
