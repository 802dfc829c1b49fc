import { bar, barTitle } from './bar.ts';
import type { DecisionStatistics } from './decision-statistics.ts';
import { limits, ruleOf, type LimitName } from './limits.ts';
import type { Line } from './line.ts';
import { count, milliseconds, OUTCOME_COLUMNS, table, type Column } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'limit', width: 7, align: 'left', style: 'bold' },
  { title: 'rule', width: 17, align: 'left' },
  { title: 'counted by', width: 14, align: 'left' },
  { title: 'offered', width: 7, align: 'right' },
  { title: 'admitted', width: 8, align: 'right', style: 'green' },
  ...OUTCOME_COLUMNS,
];

/** What each policy was asked and said. */
export function policyTable(decisions: DecisionStatistics, barWidth: number): readonly Line[] {
  const rows = (Object.keys(limits) as LimitName[]).map((name) => {
    const { offered, admitted, refused, latencies } = decisions.of(name);
    const [p50, p99] = [latencies.quantile(0.5), latencies.quantile(0.99)];
    const rule = [name, ruleOf(limits[name]), limits[name].countedBy];
    return {
      cells: [...rule, count(offered), count(admitted), count(refused), milliseconds(p50), milliseconds(p99)],
      after: bar(admitted, refused, offered, barWidth),
    };
  });
  return table(COLUMNS, rows, barTitle('█ admitted  ▒ refused', barWidth));
}
