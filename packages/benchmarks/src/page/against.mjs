import { table } from '../../../../scripts/plots/table.mjs';
import { keyForms, shapes } from '../measure/shapes.mjs';
import { goals } from './goals.mjs';

/** Figures that are better when they are smaller. */
const COSTS = new Set(['cpuUs', 'bytesPerKey']);

/**
 * A line of Markdown for each goal that was measured against another build, then for each other row: the ratio of this
 * build to the other. Above 1 is better, for costs as well.
 */
export function againstLines(results) {
  const head = ['this build, of the other; above 1 is better', 'of the medians', 'median of rounds', 'least', 'most'];
  const pairs = goals.map((goal) => ({ ...goal, row: goal.ours(results) }));
  const paired = new Set(pairs.map(({ row }) => row));
  const others = Object.values(results)
    .flatMap(({ rows }) => rows)
    .filter((row) => !paired.has(row))
    .map((row) => ({ says: labelOf(row), figure: row.group === 'http' ? 'cpuUs' : 'perSecond', row }));
  const lines = [...pairs, ...others].flatMap(({ says, figure, row }) => {
    const ratios = row?.ofAgainst?.[figure];
    if (ratios === undefined) return [];
    const { ofMedians, median, least, most } = COSTS.has(figure) ? inverted(ratios) : ratios;
    return [[says, ...[ofMedians, median, least, most].map((ratio) => ratio.toFixed(3))]];
  });
  return ['', ...table([head, ...lines]).split('\n')];
}

/** How far a median has to be from 1 to be called moved. */
const MOVED = 0.02;

/** The rows whose ratios all lie on one side of 1, and clearly: what this build has made better or worse. */
export function movedLines(results) {
  const [blank, head, rule, ...lines] = againstLines(results);
  const moved = lines.filter((line) => {
    const [, median, least, most] = line.split('|').slice(2, 6).map(Number);
    return Math.abs(median - 1) > MOVED && (least > 1 || most < 1);
  });
  const says = `${moved.length} of ${lines.length} rows moved: their rounds all say so`;
  return moved.length === 0 ? [says] : [blank, head, rule, ...moved, '', says];
}

function inverted({ ofMedians, median, least, most }) {
  return { ofMedians: 1 / ofMedians, median: 1 / median, least: 1 / most, most: 1 / least };
}

function labelOf({ group, shape, inFlight, policies, name, form, framework, store }) {
  if (group === 'http') return `HTTP, ${framework}, ${store}`;
  const depth = inFlight === undefined ? [] : [`${inFlight} in flight`];
  const several = policies > 1 ? [`${policies} policies`] : [];
  const key = form === undefined ? [] : [`key: ${keyForms[form]}`];
  return [group, name, shapes[shape].says, ...several, ...depth, ...key].join(', ');
}
