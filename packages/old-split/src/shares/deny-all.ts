import type { Verdict, AnyAlgorithm } from '@sluice/old-core/spi';

const denyAllForms = new Map<AnyAlgorithm, AnyAlgorithm>();

/** The algorithm with a kernel that denies every cost and leaves the state as it is. */
export function denyAll(algorithm: AnyAlgorithm): AnyAlgorithm {
  let form = denyAllForms.get(algorithm);
  if (form === undefined) {
    form = { ...algorithm, kernel: (_policy, state, cost) => ({ state, verdict: denial(cost) }) };
    denyAllForms.set(algorithm, form);
  }
  return form;
}

function denial(cost: number): Verdict {
  return {
    allowed: cost === 0,
    limit: 0,
    remaining: 0,
    retryAfterMs: cost === 0 ? 0 : null,
    resetAfterMs: 0,
    nextAfterMs: null,
    delayMs: 0,
    used: 0,
  };
}
