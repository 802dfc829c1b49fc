import { bars } from '../../../../scripts/plots/bars.mjs';
import { shapes } from '../measure/shapes.mjs';
import { inverse } from './goals.mjs';
import { figure, rate } from './numbers.mjs';
import { byHttp, byMemory, byRedis, nodesOf, valuesOf } from './rows.mjs';

/** Every picture of the page for users, by its file's name. Groups that were not measured have none. */
export function plotsOf(results) {
  return {
    ...(results.memory && { 'bench-memory.svg': memoryPlot(results) }),
    ...(results.redis && { 'bench-redis.svg': redisPlot(results) }),
    ...(results.http && { 'bench-http.svg': httpPlot(results) }),
  };
}

const bar = ({ name, kind }, { median, low, high }, label) => ({ name, kind, value: median, low, high, label });

function redisPlot(results) {
  const scenes = [...Object.keys(shapes).map((shape) => ({ shape, policies: 1 })), { shape: 'many', policies: 3 }];
  const panels = scenes.flatMap(({ shape, policies }) => {
    const rows = byRedis(results, { shape, policies, inFlight: 64 }).filter(({ ofFloor }) => ofFloor !== undefined);
    if (rows.length === 0) return [];
    const title = `${shapes[shape].says}${policies === 1 ? '' : `, ${policies} policies`}`;
    const labelOf = ({ ofFloor, figures }) => `${figure(ofFloor.perSecond)} (${rate(figures.perSecond)} a second)`;
    return [{ title, bars: rows.map((row) => bar(row, row.ofFloor.perSecond, labelOf(row))), mark: 1 }];
  });
  return bars({
    title: 'Decisions on Redis, of raw INCR in the same round, 64 in flight',
    description:
      'Bars of decisions a second, relative to raw INCR through the same client. The table holds the figures.',
    panels,
  });
}

function memoryPlot(results) {
  const panels = valuesOf(byMemory(results, {}), 'shape').map((shape) => ({
    title: shapes[shape].says,
    bars: byMemory(results, { shape }).map((row) => bar(row, row.figures.perSecond, rate(row.figures.perSecond))),
  }));
  return bars({
    title: 'Decisions in memory, a second of CPU time',
    description: 'Bars of decisions a second in memory. The table holds the figures.',
    panels,
  });
}

function httpPlot(results) {
  const scenes = valuesOf(results.http.rows, 'framework').flatMap((framework) =>
    nodesOf(results).map((node) => byHttp(results, { framework, node })),
  );
  const panels = scenes
    .filter((rows) => rows.length > 0)
    .map((rows) => ({
      title: `${rows[0].framework}, Node ${rows[0].node}`,
      bars: rows.map((row) => ({
        ...bar(
          row,
          inverse(row.ofFloor.cpuUs),
          `${figure(inverse(row.ofFloor.cpuUs))} (${figure(row.figures.cpuUs)} µs)`,
        ),
        name: row.store === 'none' ? row.name : `${row.name}, ${row.store}`,
      })),
      mark: 1,
    }));
  return bars({
    title: 'Requests over HTTP: of the same server writing two header fields by hand, by server CPU',
    description: 'Bars of what is left of a server that writes two header fields by hand. The tables hold the figures.',
    panels,
  });
}
