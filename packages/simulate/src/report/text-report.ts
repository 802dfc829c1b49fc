import { printable, table } from '../terminal/table.ts';
import { percent, type CheckReport } from './check.ts';
import { share, type CandidateReport, type DeniedClient, type Report } from './report.ts';

const TOLD = 10;
const CELL = 48;
const BARS = ' ▁▂▃▄▅▆▇█';
const BARS_WIDTH = 60;

/** The report as a person reads it. */
export function textReport(report: Report, check: CheckReport | null, exceeded: readonly string[]): string {
  return [
    heading(report),
    ...warnings(report),
    ...report.candidates.map((candidate) => candidateText(candidate, report)),
    peaksText(report),
    suggestionsText(report),
    ...(check === null ? [] : [checkText(check, report)]),
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
  if (wholeSeconds && report.candidates.length > 0) {
    found.push(
      'stamps are whole seconds: "between" are the fewest and the most denials of three placements in them that were tried, and no bounds',
    );
  }
  return found.length === 0 ? [] : [found.map((one) => `note: ${one}`).join('\n')];
}

function candidateText(candidate: CandidateReport, { requests, clients, overTime }: Report): string {
  const { best, worst, retry, top } = candidate;
  const between = (of: 'clients' | 'denied'): string =>
    best === null || worst === null || best[of] === worst[of]
      ? ''
      : `; between ${number(best[of])} and ${number(worst[of])}`;
  const lines = [
    printable(candidate.policy),
    `  clients denied   ${number(candidate.clients)} of ${number(clients)} (${percent(candidate.clientsShare)})${between('clients')}`,
    `  requests denied  ${number(candidate.denied)} of ${number(requests)} (${percent(candidate.deniedShare)})${between('denied')}`,
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
  if (candidate.blocked > 0) lines.push(`  during a block   ${number(candidate.blocked)} of the denied ones`);
  if (candidate.delayed > 0) {
    lines.push(
      `  delayed          ${number(candidate.delayed)} requests, by ${number(candidate.meanDelayMs)} ms on average, ${number(candidate.longestDelayMs)} ms at most`,
    );
  }
  if (retry !== null) {
    lines.push(
      `  with retries     ${number(retry.deniedAtFirst)} denied at first, ${number(retry.recovered)} allowed later (after ${number(retry.meanWaitMs)} ms on average, ${number(retry.longestWaitMs)} ms at most), ${number(retry.givenUp)} gave up, ${number(retry.waiting)} still wait; ${number(retry.retries)} more requests${retry.dropped > 0 ? `; ${number(retry.dropped)} had no room` : ''}`,
    );
  }
  if (top.length > 0) lines.push(indented(topText(top.slice(0, TOLD))));
  return lines.join('\n');
}

function topText(top: readonly DeniedClient[]): string {
  return table(
    ['CLIENT', 'REQUESTS', 'DENIED', 'STATUSES', 'PATH', 'USER AGENT'],
    top.map(({ client, requests, denied, statuses, paths, userAgents, shared }) => [
      cut(client),
      number(requests),
      number(denied),
      statuses.map(([status, count]) => `${String(status)} (${number(count)})`).join(' ') || '-',
      cut(paths[0]?.[0] ?? '-'),
      `${shared === null ? '' : `NAT? ${String(shared.userAgents)}${shared.orMore ? '+' : ''} agents: `}${cut(userAgents[0]?.[0] ?? '-')}`,
    ]),
  );
}

function peaksText({ peaks }: Report): string {
  return `Requests of one client in a window that begins with one of them, at its peak:\n${table(
    ['WINDOW', 'P50', 'P90', 'P99', 'P99.9', 'MAX'],
    peaks.map(({ window, p50, p90, p99, p999, max }) => [window, ...[p50, p90, p99, p999, max].map(number)]),
  )}`;
}

function suggestionsText({ suggestions, requests, clients, key }: Report): string {
  const { windows, buckets, maxClients, maxDenied } = suggestions;
  const loss = `at most ${percent(maxClients)} of the clients${maxDenied === null ? '' : ` and ${percent(maxDenied)} of the requests`}`;
  const rows = windows.map(({ policy, clients: touched, denied, deniedSucceeded }) => [
    policy,
    `${number(touched)} (${percent(share(touched, clients))})`,
    denied === null ? '-' : `${number(denied)} (${percent(share(denied, requests))})`,
    deniedSucceeded === null ? '-' : number(deniedSucceeded),
  ]);
  const points = buckets.map(({ refill, every, p50, p99, capacity, clients: touched, max }) => [
    `tokenBucket --capacity ${String(capacity)} --refill ${String(refill)} --every ${every}`,
    `${number(touched)} (${percent(share(touched, clients))})`,
    number(p50),
    number(p99),
    number(max),
  ]);
  return [
    `Limits by ${key} that deny ${loss}:`,
    table(['POLICY', 'CLIENTS', 'REQUESTS', 'HAD SUCCEEDED'], rows),
    '',
    'Rate and burst of a bucket that denies no more clients, and the burst that half, 99% and all of the clients need:',
    table(['POLICY', 'CLIENTS', 'P50', 'P99', 'MAX'], points),
  ].join('\n');
}

function checkText({ logs, requests, clients, candidates, suggestions }: CheckReport, report: Report): string {
  const rows = [...candidates, ...suggestions].map((one) => {
    const first = report.candidates.find(({ policy }) => policy === one.policy);
    const suggested = [...report.suggestions.windows, ...report.suggestions.buckets].find(
      (_, i) => suggestions[i] === one,
    );
    const before = first?.clientsShare ?? share(suggested?.clients ?? 0, report.clients);
    return [
      one.policy,
      percent(before),
      `${number(one.clients)} (${percent(one.clientsShare)})`,
      `${number(one.denied)} (${percent(one.deniedShare)})`,
      number(one.deniedSucceeded),
    ];
  });
  return `The same on ${namesOf(logs)}, ${counted(requests, 'request')} of ${counted(clients, 'client')}:\n${table(
    ['POLICY', 'CLIENTS BEFORE', 'CLIENTS', 'REQUESTS', 'HAD SUCCEEDED'],
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
