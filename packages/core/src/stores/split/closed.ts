import type { Verdict } from '../../algorithms/algorithm.ts';
import type { AnyAlgorithm } from '../../algorithms/index.ts';

const closedForms = new Map<AnyAlgorithm, AnyAlgorithm>();

/** An algorithm that admits nothing for the time being, and leaves the states alone. */
export function closed(algorithm: AnyAlgorithm): AnyAlgorithm {
  let form = closedForms.get(algorithm);
  if (form === undefined) {
    form = { ...algorithm, kernel: (_policy, state, cost) => ({ state, verdict: nothing(cost) }) };
    closedForms.set(algorithm, form);
  }
  return form;
}

function nothing(cost: number): Verdict {
  return {
    allowed: cost === 0,
    limit: 0,
    remaining: 0,
    retryAfterMs: cost === 0 ? 0 : null,
    resetAfterMs: 0,
    nextAfterMs: null,
    delayMs: 0,
  };
}
