import { limits, ruleOf, type LimitName } from '../api/limits.ts';
import { clientKinds } from '../clients/traffic.ts';
import type { ClientStatistics, DecisionStatistics, Latencies } from '../statistics/counts.ts';
import { count, line, milliseconds, type Line, type Style } from './text.ts';

interface Column {
  readonly title: string;
  readonly width: number;
  readonly align: 'left' | 'right';
  readonly style?: Style;
}

interface Row {
  readonly cells: readonly string[];
  /** To the right of the columns. */
  readonly after: Line;
}

/** The last columns of both tables. */
const OUTCOME_COLUMNS: readonly Column[] = [
  { title: 'denied', width: 7, align: 'right', style: 'red' },
  { title: 'p50 ms', width: 6, align: 'right' },
  { title: 'p99 ms', width: 6, align: 'right' },
];

const POLICY_COLUMNS: readonly Column[] = [
  { title: 'limit', width: 7, align: 'left', style: 'bold' },
  { title: 'rule', width: 17, align: 'left' },
  { title: 'counted by', width: 14, align: 'left' },
  { title: 'offered', width: 7, align: 'right' },
  { title: 'allowed', width: 8, align: 'right', style: 'green' },
  ...OUTCOME_COLUMNS,
];

const CLIENT_COLUMNS: readonly Column[] = [
  { title: 'client', width: 7, align: 'left', style: 'bold' },
  { title: '#', width: 2, align: 'right' },
  { title: 'what it does', width: 29, align: 'left' },
  { title: 'sent', width: 7, align: 'right' },
  { title: 'answered', width: 8, align: 'right', style: 'green' },
  ...OUTCOME_COLUMNS,
];

const NARROWEST_BAR = 20;
const WIDEST_BAR = 40;
/** What a table takes, with the space before the bars. */
const TABLE = 80;

/** How wide bars beside the tables can be: 0 where there is no room. */
export function barWidth(columns: number): number {
  const room = columns - TABLE;
  return room < NARROWEST_BAR ? 0 : Math.min(room, WIDEST_BAR);
}

/** Requests and decisions of each policy, with bars of a width. */
export function policyTable(decisions: DecisionStatistics, width: number): readonly Line[] {
  const rows = (Object.keys(limits) as LimitName[]).map((name) => {
    const { offered, allowed, denied, latencies } = decisions.of(name);
    const rule = [name, ruleOf(limits[name]), limits[name].countedBy];
    return row(rule, [offered, allowed, denied], latencies, width);
  });
  return table(POLICY_COLUMNS, rows, barTitle('█ allowed  ▒ denied', width));
}

/** The results of the clients of each kind, with bars of a width. */
export function clientTable(clients: ClientStatistics, width: number): readonly Line[] {
  const rows = clientKinds.map(({ name, does, addresses }) => {
    const { sent, answered, denied, latencies } = clients.of(name);
    const who = [name, String(addresses.length), does];
    return row(who, [sent, answered, denied], latencies, width);
  });
  const failed = clients.total('failed');
  return [
    ...table(CLIENT_COLUMNS, rows, barTitle('█ answered  ▒ denied', width)),
    ...(failed === 0 ? [] : [line(`${count(failed)} of the requests sent failed: no answer, or an error.`, 'red')]),
  ];
}

function row(
  who: readonly string[],
  [asked, well, badly]: readonly [number, number, number],
  latencies: Latencies,
  width: number,
): Row {
  const times = [latencies.quantile(0.5), latencies.quantile(0.99)];
  return {
    cells: [...who, ...[asked, well, badly].map(count), ...times.map(milliseconds)],
    after: bar(well, badly, asked, width),
  };
}

/** Columns one space apart; the first line has their titles. Text that is too wide pushes the rest. */
function table(columns: readonly Column[], rows: readonly Row[], titleAfter: Line): readonly Line[] {
  const cell = ({ width, align }: Column, text: string): string =>
    `${align === 'left' ? text.padEnd(width) : text.padStart(width)} `;
  const titles: Line = columns.map((column) => ({ text: cell(column, column.title), style: 'dim' }));
  return [
    [...titles, ...titleAfter],
    ...rows.map(({ cells, after }) => [
      ...columns.map((column, i) => {
        const text = cells[i] ?? '';
        // A zero is not highlighted.
        return { text: cell(column, text), style: text === '0' ? 'dim' : column.style };
      }),
      ...after,
    ]),
  ];
}

/** The share of `total` that went well, and that did not; distinct without colours too. */
function bar(well: number, badly: number, total: number, width: number): Line {
  if (total === 0 || width === 0) return [];
  const wellUntil = Math.round((well / total) * width);
  const badlyUntil = Math.round(((well + badly) / total) * width);
  return [
    { text: '█'.repeat(wellUntil), style: 'green' },
    { text: '▒'.repeat(badlyUntil - wellUntil), style: 'red' },
  ];
}

function barTitle(title: string, width: number): Line {
  return [{ text: title.slice(0, width), style: 'dim' }];
}
