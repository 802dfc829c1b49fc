import { TARGET_ACCOUNT } from '../clients/behaviours.ts';
import type { ClientStatistics, DecisionStatistics, Denial } from '../statistics/counts.ts';
import type { SharedBudget } from '../statistics/shared-budget.ts';
import { barWidth, clientTable, policyTable } from './tables.ts';
import { count, line, type Line } from './text.ts';

/** The data of this run for the summary. */
export interface Run {
  readonly url: string;
  /** `memory`, or where Redis is. */
  readonly storeLabel: string;
  readonly onRedis: boolean;
  readonly startedAtMs: number;
  readonly decisions: DecisionStatistics;
  readonly clients: ClientStatistics;
  /** That of the one account the whole botnet is after. */
  readonly targetBudget: SharedBudget;
}

const SHOWN_FIELDS = /^(ratelimit|retry-after$|content-type$|cache-control$)/i;
const EMPTY = line('');
const NOTES: readonly Line[] = [
  EMPTY,
  line('Latency: of a limit, until it decided; of a client, until its answer, over HTTP.', 'dim'),
  line('login and account decide together: what one denies takes nothing from the', 'dim'),
  line('other; there it is offered, but neither allowed nor denied.', 'dim'),
];

/**
 * The whole summary. The first 24 lines are those that matter, for terminals that have no more.
 *
 * @param isRunning - Whether the API still runs, and so whether to print how to use it.
 * @param columns - Bars are beside the tables when there is room.
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
    ...denialLines(run.clients.denial),
  ];
}

/** How to see the header fields and, with the sixth login of a minute, a denial. */
export function curlLines(url: string): readonly Line[] {
  return [
    [{ text: 'Try it:  ' }, { text: `curl -si ${url}/articles/1`, style: 'cyan' }],
    [{ text: 'A 429:   ' }, { text: `curl -si -d user=me '${url}/login?[1-6]'`, style: 'cyan' }],
  ];
}

/** The progress in one line. */
export function progressLine({ clients, startedAtMs }: Run): Line {
  const [sent, denied] = [clients.total('sent'), clients.total('denied')];
  const seconds = (performance.now() - startedAtMs) / 1000;
  const rate = count(Math.round(sent / seconds));
  return line(`${seconds.toFixed(0)} s: ${count(sent)} requests, ${rate} a second, ${count(denied)} denied`);
}

/** The deciding store, and how to share the limits. */
function storeLines({ storeLabel, onRedis, decisions }: Run): readonly Line[] {
  if (!onRedis) {
    return [
      line('Store: the memory of this process (source "memory").'),
      line('Limits that several processes share: REDIS_URL=redis://127.0.0.1:6379 npm start', 'dim'),
    ];
  }
  const [there, here] = [decisions.decidedBy('redis'), decisions.decidedBy('local')];
  return [
    line(`Store: ${storeLabel} (source "redis"): ${count(there)} decisions; in local memory: ${count(here)}.`),
    decisions.latestSource === 'local'
      ? line('Redis does not answer: until it does, this process decides alone, by the same rules.', 'red')
      : line('Start a second one to see the limits shared: both together get what one alone would.', 'dim'),
  ];
}

/** One budget in detail: the units of all processes, and those of this one. */
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

/** What a 429 looks like. */
function denialLines(denial: Denial | undefined): readonly Line[] {
  if (denial === undefined) return [];
  const { kind, answer } = denial;
  const fields = answer.rawFields.flatMap((name, i) =>
    i % 2 === 0 && SHOWN_FIELDS.test(name) ? [line(`  ${name}: ${answer.rawFields[i + 1] ?? ''}`)] : [],
  );
  return [
    EMPTY,
    line(`A denial, as a ${kind} got it from ${answer.path}`, 'dim'),
    line(`  HTTP/1.1 ${String(answer.status)} ${answer.statusText}`),
    ...fields,
    EMPTY,
    line(`  ${answer.body}`),
  ];
}
