import type { Answer } from './replay.ts';
import type { Column } from './summary.ts';
import { COLUMNS } from './traffic.ts';

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** A time as a person reads it: `250 ms`, `12.4 s`, `1 min 40 s`, `2 h`. */
export function shownTime(ms: number): string {
  if (ms < 1_000) return `${String(Math.round(ms))} ms`;
  if (ms < 60_000) return `${String(Math.round(ms / 100) / 10)} s`;
  const first = UNITS.findIndex(([, length]) => ms >= length);
  const [[name, length], [below, part]] = UNITS.slice(first, first + 2) as [
    (typeof UNITS)[number],
    (typeof UNITS)[number],
  ];
  const parts = Math.round(ms / part);
  const perUnit = length / part;
  const [whole, rest] = [Math.floor(parts / perUnit), parts % perUnit];
  return `${String(whole)} ${name}${rest === 0 ? '' : ` ${String(rest)} ${below}`}`;
}

/** A number of things: `1 request`, `20 requests`. */
export function counted(count: number, thing: string): string {
  return `${String(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** The outcome of a request in a word. */
export function outcomeOf({ decision }: Answer): 'allowed' | 'delayed' | 'denied' {
  if (!decision.allowed) return 'denied';
  return decision.delayMs > 0 ? 'delayed' : 'allowed';
}

/** A request and its outcome in a sentence, for those who do not see it. */
export function requestText(answer: Answer): string {
  const { delayMs, retryAfterMs, policy } = answer.decision;
  const at = `at ${shownTime(answer.atMs)}${answer.retry === 0 ? '' : `, retry ${String(answer.retry)}`}`;
  if (!answer.decision.allowed) {
    return `${at}: denied by ${policy}${retryAfterMs === null ? '' : `, again after ${shownTime(retryAfterMs)}`}`;
  }
  return `${at}: allowed${delayMs > 0 ? `, after a delay of ${shownTime(delayMs)}` : ''}`;
}

/** The content of a column in a sentence. */
export function columnText({ allowed, denied, retried }: Omit<Column, 'delayed'>): string {
  const all = allowed + denied;
  if (all === 0) return 'no requests';
  const again = retried === 0 ? '' : `, ${String(retried)} of them for another time`;
  return `${counted(all, 'request')}: ${String(allowed)} allowed, ${String(denied)} denied${again}`;
}

/** The time that a column stands for. */
export function columnSpan(column: number, spanMs: number): string {
  return `${shownTime((column * spanMs) / COLUMNS)} to ${shownTime(((column + 1) * spanMs) / COLUMNS)}`;
}
