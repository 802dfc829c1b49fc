import { barWidth } from './bar.ts';
import { clientTable } from './client-table.ts';
import { TARGET_ACCOUNT } from './ill-behaved.ts';
import { line, type Line } from './line.ts';
import { policyTable } from './policy-table.ts';
import { refusalLines } from './refusal-lines.ts';
import type { Run } from './run.ts';
import { storeLines } from './store-lines.ts';
import { count } from './table.ts';

const EMPTY = line('');
const NOTES: readonly Line[] = [
  EMPTY,
  line('Latency: of a limit, until it decided; of a client, until its answer, over HTTP.', 'dim'),
  line('login and account decide together: what one refuses takes nothing from the', 'dim'),
  line('other; there it is offered, but neither admitted nor refused.', 'dim'),
];

/**
 * The whole summary. The first 24 lines are those that matter, for terminals that have no more.
 *
 * @param isRunning - Whether the API can still be asked, and so whether to say how.
 * @param columns - Bars stand beside the tables where there is room.
 */
export function summaryLines(run: Run, isRunning: boolean, columns: number): readonly Line[] {
  const bars = barWidth(columns);
  return [
    [{ text: 'Sluice live traffic, ', style: 'bold' }, ...progressLine(run)],
    ...(isRunning ? curlLines(run.url) : []),
    ...storeLines(run),
    EMPTY,
    ...policyTable(run.decisions, bars),
    EMPTY,
    ...clientTable(run.clients, bars),
    EMPTY,
    ...budgetLines(run),
    ...NOTES,
    ...refusalLines(run.clients.refusal),
  ];
}

/** How to see the header fields and, with the sixth login of a minute, a refusal. */
export function curlLines(url: string): readonly Line[] {
  return [
    [{ text: 'Try it:  ' }, { text: `curl -si ${url}/articles/1`, style: 'cyan' }],
    [{ text: 'A 429:   ' }, { text: `curl -si -d user=me '${url}/login?[1-6]'`, style: 'cyan' }],
  ];
}

/** How far it is, in one line. */
export function progressLine({ clients, startedAtMs }: Run): Line {
  const [sent, refused] = [clients.total('sent'), clients.total('refused')];
  const seconds = (performance.now() - startedAtMs) / 1000;
  const rate = count(Math.round(sent / seconds));
  return line(`${seconds.toFixed(0)} s: ${count(sent)} requests, ${rate} a second, ${count(refused)} refused`);
}

/** One budget from near: what all processes took of it, and what this one did. */
function budgetLines({ targetBudget, onRedis }: Run): readonly Line[] {
  const { use } = targetBudget;
  if (use === undefined) return [];
  const { limit, used, usedHere } = use;
  const elsewhere = onRedis ? `, ${count(Math.max(used - usedHere, 0))} by other processes` : '';
  return [
    line(
      `account "${TARGET_ACCOUNT}": ${count(used)} of ${count(limit)} taken in this window, ${count(usedHere)} by this process${elsewhere}`,
    ),
  ];
}
