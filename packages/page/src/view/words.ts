import { writeDuration } from '@sluice/core/spi';
import type { KeyState } from '../key-actions.ts';
import type { ManagedNumbers } from '../overrides.ts';
import { markup, type Markup } from './markup.ts';

/** An instant, which the page shows by the clock of who looks at it. */
export function time(ms: number): Markup {
  const iso = new Date(ms).toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Such as `87 of 100 in 1m, 13 left, 1 more at 14:02:07`. */
export function policyWords(policy: KeyState['policies'][number], atMs: number): Markup {
  const { used, limit, remaining, windowMs, nextAfterMs, resetAfterMs } = policy;
  const more = nextAfterMs === resetAfterMs ? `all ${number(limit)}` : '1 more';
  const next = nextAfterMs === null || used === 0 ? undefined : markup`, ${more} at ${time(atMs + nextAfterMs)}`;
  return markup`${number(used)} of ${number(limit)} in ${writeDuration(windowMs)}, ${number(remaining)} left${next}`;
}

/** What would be decided about the key's next request. */
export function outcomeWords({ outcome, retryAtMs, policies }: KeyState): Markup {
  const until = retryAtMs === null ? undefined : markup` until ${time(retryAtMs)}`;
  if (outcome === 'blocked') return markup`Blocked${until}.`;
  if (outcome === 'denied') return markup`The next request is denied${until}.`;
  if (outcome === 'unconfigured') return markup`Its managed policy is missing.`;
  if (policies.length > 0) return markup`The next request is allowed.`;
  return markup`Not blocked. Its numbers depend on the request, and this process has not denied it lately.`;
}

/** Such as `Override of orders: fixedWindow 500 per 1h until 14:02:07, by ann (sale).` */
export function overrideWords(
  { name, text }: ManagedNumbers,
  override: NonNullable<ManagedNumbers['override']>,
): Markup {
  const { untilMs, by, reason } = override;
  const end = untilMs === null ? ', without an end' : markup` until ${time(untilMs)}`;
  const whose = `${by === null ? '' : `, by ${by}`}${reason === null ? '' : ` (${reason})`}`;
  return markup`Override of ${name}: ${text}${end}${whose}.`;
}

/** A count, with its bounds if it is not exact. */
export function countWords({ count, atLeast }: { readonly count: number; readonly atLeast: number }): string {
  return atLeast === count ? number(count) : `${number(atLeast)} to ${number(count)}`;
}

export function number(value: number): string {
  return value.toLocaleString('en');
}
