import { aheadMs } from '../../../engine/heal-state.ts';
import type { Decision } from '../../../engine/decision.ts';
import type { NamedPolicy } from '../../../engine/policy.ts';
import type { Limit } from '../../../engine/store.ts';
import { warnOnce } from '../../../warnings.ts';

/** States that end less late are not worth a warning. */
const LEAST_MS = 1000;

/**
 * Warns when a denial comes from a state that ends later than its policy could make it end: the clock of the server
 * ran ahead when it was written.
 *
 * @param states - The states of the key at the instant of the decision.
 */
export function warnOfStateAhead(
  limiter: string,
  { policies }: Limit,
  states: readonly unknown[],
  { atMs, policies: decided, outcome }: Pick<Decision, 'atMs' | 'policies' | 'outcome'>,
): void {
  if (outcome !== 'denied') return;
  if (decided.every(({ resetAfterMs, windowMs }) => resetAfterMs <= windowMs)) return; // the usual case
  policies.forEach((named: NamedPolicy, j) => {
    const lateMs = aheadMs(named, states[j], atMs);
    if (lateMs < LEAST_MS) return;
    warnOnce(
      'SLUICE_STATE_AHEAD',
      `the limiter ${limiter} denies by a state that ends ${String(Math.round(lateMs / 1000))} s later than its policy ${named.name} could make it end: more units were charged afterwards than the policy holds, the policy had larger numbers when it was written, or the clock of Redis ran ahead then. In the last two cases, reset the keys that should not wait.`,
      limiter,
    );
  });
}
