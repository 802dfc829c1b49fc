import { describePolicy, type Decision } from '@sluice/express';
import type { ClientKind } from './clients.ts';
import { limits } from './limits.ts';

const NONE = { offered: 0, allowed: 0, denied: 0 };

/** What the limits have decided, by the decisions that `onDecision` was called with. */
export class Decided {
  readonly sources: Record<string, number> = { redis: 0, local: 0 };
  readonly limits: Record<string, typeof NONE> = {};

  record({ allowed, source, policies }: Decision): void {
    this.sources[source] = (this.sources[source] ?? 0) + 1;
    for (const policy of policies) {
      const counts = (this.limits[policy.name] ??= { ...NONE });
      counts.offered++;
      if (allowed) counts.allowed++;
      if (!policy.allowed) counts.denied++;
    }
  }
}

export interface Run {
  readonly url: string;
  readonly startedAtMs: number;
  /** Where Redis is; undefined for the memory of the process. */
  readonly redis: string | undefined;
  readonly decided: Decided;
  readonly kinds: readonly ClientKind[];
}

/** How to use the API, and to see a denial. */
export function explain({ url }: Run): string {
  return `Try it:  curl -si ${url}/articles/1\nA 429:   curl -si -d user=me '${url}/login?[1-6]'`;
}

/** The run so far, in a line. */
export function tellProgress({ kinds, startedAtMs }: Run): string {
  const sum = (count: 'sent' | 'denied'): number => kinds.reduce((total, kind) => total + kind[count], 0);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const perSecond = Math.round(sum('sent') / seconds);
  return `${seconds.toFixed(0)} s: ${String(sum('sent'))} requests, ${String(perSecond)} a second, ${String(sum('denied'))} denied`;
}

/** What each limit has decided, and what each kind of client got. */
export function summarize(run: Run): string {
  const { decided, redis } = run;
  const ofLimits = Object.entries(limits).map(([name, policy]) => {
    const { offered, allowed, denied } = decided.limits[name] ?? NONE;
    return [name, describePolicy(policy), offered, allowed, denied];
  });
  const ofClients = run.kinds.map(({ name, does, sent, answered, denied }) => [name, does, sent, answered, denied]);
  const store =
    redis === undefined
      ? 'Store: the memory of this process. Shared by several: REDIS_URL=redis://127.0.0.1:6379 npm start'
      : `Store: ${redis}: ${String(decided.sources['redis'])} decisions, and ${String(decided.sources['local'])} in local memory without it`;
  return [
    `Sluice live traffic, ${tellProgress(run)}`,
    store,
    '',
    ...table(['limit', 'rule', 'offered', 'allowed', 'denied'], ofLimits),
    '',
    ...table(['client', 'what it does', 'sent', 'answered', 'denied'], ofClients),
    '',
    'login and account decide together: what one of them denies takes nothing from the other.',
  ].join('\n');
}

function table(titles: readonly string[], rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const widths = [8, 36, 8, 9, 8];
  return [titles, ...rows].map((row) =>
    row
      .map((cell, i) => (i < 2 ? String(cell).padEnd(widths[i] ?? 0) : String(cell).padStart(widths[i] ?? 0)))
      .join(''),
  );
}
