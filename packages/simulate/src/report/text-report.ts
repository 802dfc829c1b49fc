import { printable, table } from '../terminal/table.ts';
import { percent } from './bound.ts';
import { share, type CandidateReport, type DeniedClient, type Report } from './report.ts';

const TOLD = 10;
const CELL = 48;
const BARS = ' ▁▂▃▄▅▆▇█';
const BARS_WIDTH = 60;

/** The report as a person reads it. */
export function textReport(report: Report, exceeded: readonly string[]): string {
  return [
    heading(report),
    ...warnings(report),
    ...report.candidates.map((candidate) => candidateText(candidate, report)),
    peaksText(report),
    suggestionsText(report),
    ...(exceeded.length === 0 ? [] : [exceeded.map((one) => `over the bound: ${one}`).join('\n')]),
  ].join('\n\n');
}

function heading({ requests, clients, key, fromMs, toMs, logs }: Report): string {
  if (fromMs === null || toMs === null) return `no requests in ${namesOf(logs)}`;
  const formats = [...new Set(logs.map(({ format }) => format))].join(', ');
  return `${counted(requests, 'request')} of ${counted(clients, 'client')} (by ${key}) from ${instant(fromMs)} to ${instant(toMs)}; format ${formats}`;
}

/** The logs, as a terminal may show them. */
function namesOf(logs: Report['logs']): string {
  return logs.map(({ name }) => printable(name)).join(', ');
}

function warnings(report: Report): readonly string[] {
  const { late, withoutKey, dropped, wholeSeconds } = report;
  const found: string[] = [];
  for (const { name, unreadable, firstUnreadable, stray, firstStray } of report.logs) {
    if (unreadable > 0)
      found.push(
        unreadable === 1
          ? `${printable(name)}: line ${String(firstUnreadable)} is no request`
          : `${printable(name)}: ${number(unreadable)} lines are no requests, the first of them line ${String(firstUnreadable)}`,
      );
    if (stray > 0)
      found.push(
        stray === 1
          ? `${printable(name)}: line ${String(firstStray)} is stamped more than a day after the lines that follow it, and counts at the instant that the log had reached`
          : `${printable(name)}: ${number(stray)} lines are stamped more than a day after the lines that follow them, the first of them line ${String(firstStray)}, and count at the instant that the log had reached`,
      );
  }
  if (withoutKey > 0) found.push(`without a key, and not limited by it: ${counted(withoutKey, 'request')}`);
  if (late > 0) {
    found.push(
      `out of order by more than --resort: ${counted(late, 'line')} (${percent(late / report.requests)}), which count at the instant that the log had reached`,
    );
  }
  if (dropped.keys > 0) {
    found.push(
      `forgotten because of --max-keys: ${counted(dropped.keys, 'key')}, ${number(dropped.live)} while still counting; a client that came back counts twice`,
    );
  }
  if (wholeSeconds && report.candidates.length > 0)
    found.push('stamps are whole seconds: requests of one second count as if they had come at its beginning');
  return found.length === 0 ? [] : [found.map((one) => `note: ${one}`).join('\n')];
}

function candidateText(candidate: CandidateReport, { requests, clients, overTime }: Report): string {
  const lines = [
    printable(candidate.policy),
    `  clients denied   ${number(candidate.clients)} of ${number(clients)} (${percent(candidate.clientsShare)})`,
    `  requests denied  ${number(candidate.denied)} of ${number(requests)} (${percent(candidate.deniedShare)})`,
  ];
  for (const { key, requests: without } of candidate.withoutKey) {
    lines.push(
      `  without a key    ${number(without)} of ${number(requests)} (${percent(share(without, requests))}), which the limit by ${key} leaves out`,
    );
  }
  if (candidate.denied > 0) {
    const part = share(candidate.deniedSucceeded, candidate.denied);
    lines.push(`  had succeeded    ${number(candidate.deniedSucceeded)} of the denied ones (${percent(part)})`);
    lines.push(`  offered          ${bars(overTime.offered)}`);
    lines.push(`  denied           ${bars(candidate.deniedOverTime)}`);
  }
  if (candidate.delayed > 0) {
    lines.push(
      `  delayed          ${number(candidate.delayed)} requests, by ${number(candidate.meanDelayMs)} ms on average, ${number(candidate.longestDelayMs)} ms at most`,
    );
  }
  if (candidate.top.length > 0) lines.push(indented(topText(candidate.top.slice(0, TOLD))));
  return lines.join('\n');
}

function topText(top: readonly DeniedClient[]): string {
  return table(
    ['CLIENT', 'REQUESTS', 'DENIED', 'STATUSES', 'PATH', 'USER AGENT'],
    top.map(({ client, requests, denied, statuses, paths, userAgents }) => [
      cut(client),
      number(requests),
      number(denied),
      statuses.map(([status, count]) => `${String(status)} (${number(count)})`).join(' ') || '-',
      cut(paths[0]?.[0] ?? '-'),
      cut(userAgents[0]?.[0] ?? '-'),
    ]),
  );
}

function peaksText({ peaks }: Report): string {
  return `Requests of one client in a window that begins with one of them, at its peak:\n${table(
    ['WINDOW', 'P50', 'P90', 'P99', 'P99.9', 'MAX'],
    peaks.map(({ window, p50, p90, p99, p999, max }) => [window, ...[p50, p90, p99, p999, max].map(number)]),
  )}`;
}

function suggestionsText({ suggestions: { maxClients, windows }, requests, clients, key }: Report): string {
  const rows = windows.map(({ policy, clients: touched, denied, deniedSucceeded }) => [
    policy,
    `${number(touched)} (${percent(share(touched, clients))})`,
    `${number(denied)} (${percent(share(denied, requests))})`,
    number(deniedSucceeded),
  ]);
  return `Limits by ${key} that deny at most ${percent(maxClients)} of the clients:\n${table(
    ['POLICY', 'CLIENTS', 'REQUESTS', 'HAD SUCCEEDED'],
    rows,
  )}`;
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ');
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
  return text.length > CELL ? `${text.slice(0, CELL - 1)}…` : text;
}

/** A series in few columns: the largest in each. */
function bars(series: readonly number[]): string {
  const width = Math.min(series.length, BARS_WIDTH);
  const columns = Array.from({ length: width }, (_, i) =>
    Math.max(
      ...series.slice(Math.floor((i * series.length) / width), Math.floor(((i + 1) * series.length) / width)),
      0,
    ),
  );
  const most = Math.max(...columns, 1);
  return columns.map((value) => BARS[Math.ceil((value / most) * (BARS.length - 1))] ?? '').join('');
}
