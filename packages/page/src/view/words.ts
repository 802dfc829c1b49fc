import type { LimitEvent } from '@sluice/core';
import { writeDuration } from '@sluice/core/spi';
import type { KeyState } from '../key-actions.ts';
import type { ManagedNumbers } from '../overrides.ts';
import { markup, type Markup } from './markup.ts';

/** An instant, which the page shows in the viewer's time zone. */
export function time(ms: number): Markup {
  const iso = new Date(ms).toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

/** Such as `87 of 100 in 1m, 13 left, 1 more at 14:02:07`. Under a block, nothing is left, whatever was used. */
export function describePolicyUse(policy: KeyState['policies'][number], { outcome, atMs }: KeyState): Markup {
  const { used, limit, remaining, windowMs, nextAfterMs, resetAfterMs } = policy;
  const usage = `${number(used)} of ${number(limit)} in ${writeDuration(windowMs)}`;
  if (outcome === 'blocked') return markup`${usage}`;
  const more = nextAfterMs === resetAfterMs ? `all ${number(limit)}` : '1 more';
  const next = nextAfterMs === null || used === 0 ? undefined : markup`, ${more} at ${time(atMs + nextAfterMs)}`;
  return markup`${usage}, ${number(remaining)} left${next}`;
}

/** The decision that the key's next request would get. */
export function describeOutcome({ outcome, source, retryAtMs, policies }: KeyState): Markup {
  const until = retryAtMs === null ? undefined : markup` until ${time(retryAtMs)}`;
  const where = source === 'local' ? ' in this process, which counts by itself while its store does not answer' : '';
  if (outcome === 'blocked') return markup`Blocked${until}${where}.`;
  if (outcome === 'denied') return markup`The next request is denied${until}${where}.`;
  if (outcome === 'unconfigured') return markup`Its managed policy is missing.`;
  if (policies.length > 0) return markup`The next request is allowed${where}.`;
  return markup`Not blocked. Its numbers depend on the request, and this process has not denied it lately.`;
}

/** Such as `02:14:07: denied 37 times, 100 of 100 in 1m`, with the policy unless its limiter has the same name. */
export function describeDenial(denial: KeyState['denials'][number], limiter: string): Markup {
  const { atMs, count, used, limit, windowMs, isBlocked, policy } = denial;
  const often = count === 1 ? 'once' : `${number(count)} times`;
  const why = isBlocked ? 'blocked' : `${number(used)} of ${number(limit)} in ${writeDuration(windowMs)}`;
  return markup`${time(atMs)}: denied ${often}, ${why} <small>${policy === limiter ? '' : policy}</small>`;
}

/** Such as `Override of orders: fixedWindow 500 per 1h until 14:02:07, by ann (sale).` */
export function describeOverride(
  { name, text }: ManagedNumbers,
  override: NonNullable<ManagedNumbers['override']>,
): Markup {
  const { untilMs, by, reason } = override;
  const end = untilMs === null ? ', without an end' : markup` until ${time(untilMs)}`;
  const whose = `${by === null ? '' : `, by ${by}`}${reason === null ? '' : ` (${reason})`}`;
  return markup`Override of ${name}: ${text}${end}${whose}.`;
}

const WORDS: Readonly<Record<LimitEvent['what'], string>> = {
  outage: 'outage',
  lost: 'policies lost',
  put: 'policy',
  remove: 'policy removed',
  override: 'override',
  removeOverride: 'override ended',
  block: 'block',
  unblock: 'unblock',
  reset: 'reset',
};

/** Such as `02:14:07 block ann of login: 5 of 5 used -> 5 of 5 used, blocked for 1h, by ops (a flood)`. */
export function describeEvent({ atMs, endAtMs, what, limit, key, before, after, by, reason }: LimitEvent): Markup {
  const isOpen = endAtMs === null && (what === 'outage' || what === 'lost');
  const end = endAtMs === null ? undefined : markup` to ${time(endAtMs)}`;
  const target = key === null ? markup`<bdi>${limit}</bdi>` : markup`<bdi>${key}</bdi> of <bdi>${limit}</bdi>`;
  const change = [before, after].filter((one) => one !== null).join(' → ');
  const whose = `${by === null ? '' : `, by ${by}`}${reason === null ? '' : ` (${reason})`}`;
  return markup`${isOpen ? 'since ' : ''}${time(atMs)}${end} <strong>${WORDS[what]}</strong> ${target}${change === '' ? '' : `: ${change}`}${whose}`;
}

/** A time, accurate to a quarter: `0.14 ms`. */
export function formatMs(ms: number): string {
  return `${String(Number(ms.toPrecision(2)))} ms`;
}

/** How many processes share their counts: this one, and the others. */
export function describeProcesses(others: readonly unknown[]): string {
  return others.length === 0 ? '1 process' : `${number(others.length + 1)} processes`;
}

export function number(value: number): string {
  return value.toLocaleString('en');
}
