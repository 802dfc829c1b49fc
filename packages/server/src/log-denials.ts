import { describePolicy } from '@sluice/core';
import { watchDecisions, writeDuration, type Limit, type LimiterCore, type SeenDecision } from '@sluice/core/spi';

/** How many keys are logged in a minute: beyond that denials are counted. */
const MAX_LOGGED = 100;
const MINUTE_MS = 60_000;
const MAX_KEY = 256;

/**
 * Logs the first denial of a key in each minute, with its limit. Holds at most a hundred keys.
 *
 * @param core - The limiter whose decisions are logged.
 * @param isShadow - Whether denials by a limit are only noted, and deny no request.
 * @returns A function that stops logging.
 */
export function logDenials(
  core: LimiterCore,
  isShadow: (limit: Limit) => boolean,
  log: (line: string) => void,
): () => void {
  const logged = new Set<string>();
  let others = 0;
  let timer: NodeJS.Timeout | undefined;
  const endMinute = (): void => {
    if (others > 0) log(`and ${String(others)} denials of other keys in that minute, which are not logged`);
    timer = undefined;
    logged.clear();
    others = 0;
  };
  const stop = watchDecisions((seen) => {
    const { outcome } = seen.decision;
    if (seen.limiter !== core || seen.op === 'peek' || (outcome !== 'denied' && outcome !== 'blocked')) return;
    const { name, want } = findDenying(seen);
    if (want === undefined || isShadow(want.limit)) return;
    const id = `${name} ${want.subject}`;
    if (logged.has(id)) return;
    timer ??= setTimeout(endMinute, MINUTE_MS).unref();
    if (logged.size === MAX_LOGGED) others++;
    else {
      logged.add(id);
      log(describeDenial(seen));
    }
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

/** The name of the policy that denied, and what was wanted of it. */
function findDenying({ decision: { policy: name, policies }, wants }: SeenDecision): {
  readonly name: string;
  readonly want: SeenDecision['wants'][number] | undefined;
} {
  return { name, want: wants[policies.findIndex((one) => one.name === name && !one.allowed)] };
}

function describeDenial(seen: SeenDecision): string {
  const { name, want } = findDenying(seen);
  const { outcome, retryAfterMs } = seen.decision;
  const key = want?.key ?? '';
  const shown = key.length > MAX_KEY ? `${JSON.stringify(key.slice(0, MAX_KEY))}...` : JSON.stringify(key);
  const policy = want?.limit.fixed?.find((one) => one.name === name)?.policy;
  const numbers = policy === undefined ? '' : ` (${describePolicy(policy)})`;
  const until =
    retryAfterMs === null ? '' : `, for ${writeDuration(Math.max(1, Math.ceil(retryAfterMs / 1_000)) * 1_000)}`;
  return `${shown} is ${outcome} by ${name}${numbers}${until}`;
}
