import { bar, barTitle } from './bar.ts';
import type { ClientStatistics } from './client-statistics.ts';
import { clientKinds } from './clients.ts';
import { line, type Line } from './line.ts';
import { count, milliseconds, OUTCOME_COLUMNS, table, type Column } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'client', width: 7, align: 'left', style: 'bold' },
  { title: '#', width: 2, align: 'right' },
  { title: 'what it does', width: 29, align: 'left' },
  { title: 'sent', width: 7, align: 'right' },
  { title: 'answered', width: 8, align: 'right', style: 'green' },
  ...OUTCOME_COLUMNS,
];

/** What the clients of each kind got. */
export function clientTable(clients: ClientStatistics, barWidth: number): readonly Line[] {
  const rows = clientKinds.map(({ name, does, addresses }) => {
    const { sent, answered, refused, latencies } = clients.of(name);
    const [p50, p99] = [latencies.quantile(0.5), latencies.quantile(0.99)];
    const who = [name, String(addresses.length), does];
    return {
      cells: [...who, count(sent), count(answered), count(refused), milliseconds(p50), milliseconds(p99)],
      after: bar(answered, refused, sent, barWidth),
    };
  });
  const failed = clients.total('failed');
  return [
    ...table(COLUMNS, rows, barTitle('█ answered  ▒ refused', barWidth)),
    ...(failed === 0 ? [] : [line(`${count(failed)} of the requests sent failed: no answer, or an error.`, 'red')]),
  ];
}
