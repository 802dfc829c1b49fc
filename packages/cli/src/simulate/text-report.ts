import { printable, table } from '../text.ts';
import { percent, share, type CandidateReport, type Report } from './report.ts';

const MAX_CLIENTS = 10;
const MAX_CELL = 48;

/** The report as text. */
export function formatTextReport(report: Report): string {
  const { exceeded, requests } = report;
  return [
    heading(report),
    writeNotes(report),
    ...report.candidates.map((candidate) => formatCandidate(candidate, report)),
    requests === 0 ? '' : formatPeaks(report),
    requests === 0 ? '' : formatSuggestions(report),
    exceeded.map((one) => `over the bound: ${one}`).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function heading({ requests, clients, key, fromMs, toMs, logs }: Report): string {
  if (fromMs === null || toMs === null) return `no requests in ${logs.map(({ name }) => printable(name)).join(', ')}`;
  const formats = [...new Set(logs.map(({ format }) => format))].join(', ');
  const span = `from ${instant(fromMs)} to ${instant(toMs)}`;
  return `${counted(requests, 'request')} of ${counted(clients, 'client')} (by ${key}) ${span}; format ${formats}`;
}

function writeNotes({ logs, late, requests, withoutKey, forgotten, wholeSeconds, candidates }: Report): string {
  const notes: string[] = [];
  for (const { name, unreadable, firstUnreadable } of logs) {
    if (unreadable > 0)
      notes.push(
        `${printable(name)}: no request: ${counted(unreadable, 'line')}, the first of them line ${String(firstUnreadable)}`,
      );
  }
  if (withoutKey > 0) notes.push(`without a key, and not limited by it: ${counted(withoutKey, 'request')}`);
  if (late > 0)
    notes.push(
      `earlier than the lines before, and counted at their time: ${counted(late, 'line')} (${percent(late / requests)})`,
    );
  if (forgotten > 0)
    notes.push(`forgotten because of --max-keys: ${counted(forgotten, 'client')}; one that came back counts twice`);
  if (wholeSeconds && candidates.length > 0)
    notes.push('timestamps are whole seconds: requests within a second count as if they arrived at its start');
  return notes.map((one) => `note: ${one}`).join('\n');
}

function formatCandidate(candidate: CandidateReport, { requests, clients }: Report): string {
  const { denied, deniedSucceeded, delayed, meanDelayMs, maxDelayMs, top } = candidate;
  const lines = [
    printable(candidate.policy),
    `  clients denied   ${number(candidate.clients)} of ${number(clients)} (${percent(candidate.clientsShare)})`,
    `  requests denied  ${number(denied)} of ${number(requests)} (${percent(candidate.deniedShare)})`,
  ];
  for (const { key, requests: without } of candidate.withoutKey) {
    const part = `${number(without)} of ${number(requests)} (${percent(share(without, requests))})`;
    lines.push(`  without a key    ${part}, which the limit by ${key} leaves out`);
  }
  if (denied > 0)
    lines.push(
      `  had succeeded    ${number(deniedSucceeded)} of the denied ones (${percent(share(deniedSucceeded, denied))})`,
    );
  if (delayed > 0) {
    const delays = `by ${number(meanDelayMs)} ms on average, ${number(maxDelayMs)} ms at most`;
    lines.push(`  delayed          ${counted(delayed, 'request')}, ${delays}`);
  }
  if (top.length > 0) {
    const rows = top.slice(0, MAX_CLIENTS).map((one) => {
      const [first = '-', ...others] = one.userAgents;
      const agents = others.length === 0 ? cut(first) : `${cut(first)} and ${String(others.length)} more`;
      return [cut(one.client), number(one.requests), number(one.denied), cut(one.lastPath), agents];
    });
    lines.push(table(['CLIENT', 'REQUESTS', 'DENIED', 'LAST PATH', 'USER AGENTS'], rows).replaceAll(/^/gm, '  '));
  }
  return lines.join('\n');
}

function formatPeaks({ peaks }: Report): string {
  const rows = peaks.map(({ window, p50, p90, p99, p999, max }) => [window, ...[p50, p90, p99, p999, max].map(number)]);
  const what = 'Requests of one client in a window that begins with one of them, at its peak';
  return `${what}:\n${table(['WINDOW', 'P50', 'P90', 'P99', 'P99.9', 'MAX'], rows)}`;
}

function formatSuggestions({ suggestions, maxClients, requests, clients, key }: Report): string {
  const rows = suggestions.map(({ policy, clients: touched, denied, deniedSucceeded }) => [
    policy,
    `${number(touched)} (${percent(share(touched, clients))})`,
    `${number(denied)} (${percent(share(denied, requests))})`,
    number(deniedSucceeded),
  ]);
  const what = `Limits by ${key} that deny at most ${percent(maxClients)} of the clients`;
  return `${what}:\n${table(['POLICY', 'CLIENTS', 'REQUESTS', 'HAD SUCCEEDED'], rows)}`;
}

/** `1 request`, `2 requests`. */
function counted(count: number, thing: string): string {
  return `${number(count)} ${thing}${count === 1 ? '' : 's'}`;
}

function number(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ');
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString().replace('.000Z', 'Z');
}

function cut(text: string): string {
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}
