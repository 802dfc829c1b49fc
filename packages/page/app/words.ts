import type { KeyState, PolicyState } from '../src/key-actions.ts';
import type { ManagedNumbers } from '../src/overrides.ts';
import type { ShownShared } from '../src/snapshot.ts';

const MOST_LISTED = 5;

const UNITS: readonly (readonly [ms: number, one: string, many: string])[] = [
  [86_400_000, 'day', 'days'],
  [3_600_000, 'hour', 'hours'],
  [60_000, 'minute', 'minutes'],
  [1_000, 'second', 'seconds'],
];

/** A window as a person says it: `minute`, `15 minutes`, `1500 ms`. */
export function windowWords(ms: number): string {
  const [length = 1, one = 'ms', many = 'ms'] = UNITS.find(([unit]) => ms >= unit && ms % unit === 0) ?? [];
  const count = ms / length;
  return count === 1 && one !== 'ms' ? one : `${count.toLocaleString('en')} ${many}`;
}

/** The time of an instant; with its date where that is another day. */
export function timeWords(ms: number, nowMs: number): string {
  const at = new Date(ms);
  const time = at.toLocaleTimeString('en-GB');
  return at.toDateString() === new Date(nowMs).toDateString() ? time : `${time} on ${at.toLocaleDateString('en-CA')}`;
}

/** Such as `87 of 100 in this minute, 13 left, 3 more at 14:02:07`. */
export function policyWords(policy: PolicyState, nowMs: number): string {
  const { used, limit, remaining, windowMs, nextAtMs, resetAtMs } = policy;
  const more = nextAtMs === resetAtMs ? number(Math.min(used, limit)) : '1';
  const next = nextAtMs === null || used === 0 ? '' : `, ${more} more at ${timeWords(nextAtMs, nowMs)}`;
  const window = windowWords(windowMs);
  const which = /^\d/.test(window) ? 'these' : 'this';
  return `${number(used)} of ${number(limit)} in ${which} ${window}, ${number(remaining)} left${next}`;
}

/** What would be decided about the key's next request. */
export function outcomeWords({ outcome, retryAtMs, atMs, policies }: KeyState): string {
  if (outcome === 'allowed' && policies.length === 0) {
    return 'Not blocked. Its numbers depend on the request, and this process has not counted it lately.';
  }
  if (outcome === 'allowed') return 'The next request is allowed.';
  const until = retryAtMs === null ? '' : ` until ${timeWords(retryAtMs, atMs)}`;
  if (outcome === 'blocked') return `Blocked${until}.`;
  if (outcome === 'denied') return `The next request is denied${until}.`;
  return outcome === 'unconfigured' ? 'Its managed policy is missing.' : 'The store does not answer.';
}

/** Such as `Override of orders: fixedWindow 500 per 1h until 14:02:07, by ann (sale).` */
export function overrideWords({ name, text, override }: ManagedNumbers, nowMs: number): string {
  const { untilMs, by, reason } = override ?? { untilMs: null, by: null, reason: null };
  const end = untilMs === null ? ', without an end' : ` until ${timeWords(untilMs, nowMs)}`;
  return `Override of ${name}: ${text}${end}${by === null ? '' : `, by ${by}`}${reason === null ? '' : ` (${reason})`}.`;
}

/** Whose counts are added up, and how old they are. */
export function sharedWords(
  { others, awaySinceMs }: Pick<ShownShared, 'others' | 'awaySinceMs'>,
  nowMs: number,
): string {
  const listed = others
    .slice(0, MOST_LISTED)
    .map(({ pid, host, ageMs }) => `${String(pid)} on ${host} (${ageWords(ageMs)})`);
  const rest = others.length > listed.length ? ` and ${number(others.length - listed.length)} more` : '';
  const whose =
    others.length === 0
      ? 'By this process: no other one shares its counts now.'
      : `By this process and ${number(others.length)} more: ${listed.join(', ')}${rest}. Each counts the last five to ten minutes.`;
  if (awaySinceMs === null) return whose;
  return `Redis has not taken or given counts since ${timeWords(awaySinceMs, nowMs)}: those of others may be older. ${whose}`;
}

function ageWords(ms: number): string {
  return ms < 1_500 ? 'now' : `${String(Math.round(ms / 1_000))} s ago`;
}

/** A count with what it can be wrong by. */
export function countWords({ count, atLeast, atMost }: { count: number; atLeast: number; atMost: number }): string {
  if (atLeast === atMost) return number(count);
  return `about ${number(count)} (${number(atLeast)} to ${number(atMost)})`;
}

export function number(value: number): string {
  return value.toLocaleString('en');
}
