// What a reader sees and hears: texts, drawings, coloured code, and the response to a request.
import { denialFor, fieldWriter, type HeaderFormat } from '@sluice/core/http';
import type { Decision } from '@sluice/core';
import type { Answer, Sample } from './replay.ts';
import type { Column } from './summary.ts';
import { COLUMNS } from './traffic.ts';

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** A time for a person to read: `250 ms`, `12.4 s`, `1 min 40 s`, `2 h`. */
export function showTime(ms: number): string {
  if (ms < 1_000) return `${String(Math.round(ms))} ms`;
  if (ms < 60_000) return `${String(Math.round(ms / 100) / 10)} s`;
  const at = UNITS.findIndex(([, length]) => ms >= length);
  const [name, length] = UNITS[at] ?? ['', 1];
  const [below, part] = UNITS[at + 1] ?? ['', 1];
  const parts = Math.round(ms / part);
  const rest = parts % (length / part);
  return `${String(Math.floor((parts * part) / length))} ${name}${rest === 0 ? '' : ` ${String(rest)} ${below}`}`;
}

/** A number of things: `1 request`, `20 requests`. */
export function showCount(count: number, thing: string): string {
  return `${String(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** The outcome of a request in a word. */
export function showOutcome({ decision }: Answer): 'allowed' | 'delayed' | 'denied' {
  if (!decision.allowed) return 'denied';
  return decision.delayMs > 0 ? 'delayed' : 'allowed';
}

/** A request and its outcome in a sentence, for readers who cannot see the drawing. */
export function describeRequest({ atMs, retry, decision }: Answer): string {
  const { allowed, delayMs, retryAfterMs, policy } = decision;
  const at = `at ${showTime(atMs)}${retry === 0 ? '' : `, retry ${String(retry)}`}`;
  if (allowed) return `${at}: allowed${delayMs > 0 ? `, after a delay of ${showTime(delayMs)}` : ''}`;
  return `${at}: denied by ${policy}${retryAfterMs === null ? '' : `, again after ${showTime(retryAfterMs)}`}`;
}

/** The content of a column in a sentence. */
export function describeColumn({ allowed, denied, retried }: Omit<Column, 'delayed'>): string {
  const all = allowed + denied;
  if (all === 0) return 'no requests';
  const again = retried === 0 ? '' : `, ${String(retried)} of them for another time`;
  return `${showCount(all, 'request')}: ${String(allowed)} allowed, ${String(denied)} denied${again}`;
}

/** The time span of a column. */
export function describeSpan(column: number, spanMs: number): string {
  return `${showTime((column * spanMs) / COLUMNS)} to ${showTime(((column + 1) * spanMs) / COLUMNS)}`;
}

/** The size of the drawings below, which are stretched to fit. */
export const DRAWING = { width: 1000, height: 100 } as const;
const round = (value: number): string => String(Math.round(value * 10) / 10);

/** The remaining units of one policy, as steps from the first to the last instant: an SVG path. */
export function drawRemaining(samples: readonly Sample[], policy: number, limit: number, spanMs: number): string {
  let path = '';
  let before: number | undefined;
  for (const { atMs, remaining } of samples) {
    const x = round((atMs / spanMs) * DRAWING.width);
    const y = DRAWING.height * (1 - Math.min((remaining[policy] ?? 0) / (limit || 1), 1));
    if (before === undefined) path = `M${x},${round(y)}`;
    else if (y !== before) path += `H${x}V${round(y)}`;
    before = y;
  }
  return before === undefined ? '' : `${path}H${String(DRAWING.width)}`;
}

/** A stroke for every request: an SVG path. */
export function drawRequests(answers: readonly Answer[], spanMs: number): string {
  return answers.map(({ atMs }) => `M${round((atMs / spanMs) * DRAWING.width)},0V${String(DRAWING.height)}`).join('');
}

/** The index of the request nearest to an instant; -1 in an empty list. */
export function findNearest(answers: readonly Answer[], atMs: number): number {
  const after = answers.findIndex((answer) => answer.atMs >= atMs);
  if (after <= 0) return after === 0 ? 0 : answers.length - 1;
  const [before, next] = [answers[after - 1] as Answer, answers[after] as Answer];
  return atMs - before.atMs <= next.atMs - atMs ? after - 1 : after;
}

const KINDS = ['comment', 'string', 'keyword', 'number', 'name'] as const;
const JAVASCRIPT =
  /(\/\/.*)|('(?:\\.|[^'\\])*')|\b(import|from|const|await|async|new|if|return|class|export|default|null|true|false)\b|\b(\d+)\b|\b(\w+)(?=\()/g;
const HTTP = /(^\{.*)|("[^"]*")|(^HTTP\/1\.1.*)|\b(\d+)\b|(^[A-Za-z-]+)(?=:)/gm;

/** Splits code into pieces of one colour each. */
export function highlight(
  code: string,
  language: 'javascript' | 'http' = 'javascript',
): readonly { readonly text: string; readonly kind: 'plain' | (typeof KINDS)[number] }[] {
  const tokens: { text: string; kind: 'plain' | (typeof KINDS)[number] }[] = [];
  let end = 0;
  for (const match of code.matchAll(language === 'http' ? HTTP : JAVASCRIPT)) {
    const [text, ...groups] = match as unknown as [string, ...(string | undefined)[]];
    tokens.push({ text: code.slice(end, match.index), kind: 'plain' });
    tokens.push({ text, kind: KINDS[groups.findIndex((group) => group !== undefined)] ?? 'plain' });
    end = match.index + text.length;
  }
  return [...tokens, { text: code.slice(end), kind: 'plain' }];
}

/** A format of header fields, as the option `headers` names it. */
export interface HeaderChoice {
  readonly id: string;
  readonly title: string;
  readonly format: HeaderFormat;
}

export const HEADER_CHOICES: readonly [HeaderChoice, ...HeaderChoice[]] = [
  { id: 'draft-11', title: 'draft 11', format: 'draft-11' },
  { id: 'draft-7', title: 'draft 7', format: 'draft-7' },
  { id: 'draft-6', title: 'draft 6', format: 'draft-6' },
  { id: 'legacy-epoch', title: 'X-RateLimit, epoch', format: { legacy: 'epoch' } },
  { id: 'legacy-delta', title: 'X-RateLimit, delta', format: { legacy: 'delta' } },
];

/** The response to a request, as an adapter sends it. */
export interface Response {
  readonly status: string;
  readonly fields: readonly { readonly name: string; readonly value: string }[];
  readonly body: string | undefined;
}

/** @param headers - The id of a {@link HeaderChoice}. */
export function writeResponse(decision: Decision, headers: string): Response {
  const { format } = HEADER_CHOICES.find(({ id }) => id === headers) ?? HEADER_CHOICES[0];
  const fields = fieldWriter(format)(decision);
  if (decision.allowed) return { status: '200 OK', fields, body: undefined };
  const denial = denialFor(decision);
  return {
    status: '429 Too Many Requests',
    fields: [...fields, ...denial.fields, { name: 'Content-Type', value: denial.contentType }],
    body: denial.body,
  };
}
