import { bars } from '../../../../scripts/plots/bars.mjs';
import { lines } from '../../../../scripts/plots/lines.mjs';
import { shapes } from '../measure/shapes.mjs';
import { inverse } from './goals.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byHttp, byMemory, byRedis, byScale, valuesOf } from './rows.mjs';

/** Every picture of the pages, by its file's name. Groups that were not measured have none. */
export function plotsOf(results) {
  return {
    ...(results.redis && { 'bench-redis.svg': redisPlot(results), 'bench-redis-cpu.svg': redisCpuPlot(results) }),
    ...(results.memory && { 'bench-memory.svg': memoryPlot(results) }),
    ...(results.http && { 'bench-http.svg': httpPlot(results) }),
    ...(results.scale && {
      'bench-scale-keys.svg': keysPlot(results),
      'bench-scale-policies.svg': growthPlot(results, 'policies', 'Policies of one request'),
      'bench-scale-processes.svg': processesPlot(results),
      'bench-scale-nodes.svg': growthPlot(results, 'nodes', 'Nodes of a cluster'),
    }),
  };
}

const bar = ({ name, kind }, { median, low, high }, label) => ({ name, kind, value: median, low, high, label });

function redisPanels(results, ofRow, labelOf, mark) {
  const scenes = [...Object.keys(shapes).map((shape) => ({ shape, policies: 1 })), { shape: 'many', policies: 3 }];
  return scenes.flatMap(({ shape, policies }) =>
    [64, 256].flatMap((inFlight) => {
      const rows = byRedis(results, { shape, policies, inFlight }).filter((row) => ofRow(row) !== undefined);
      if (rows.length === 0) return [];
      const title = `${shapes[shape].says}${policies === 1 ? '' : `, ${policies} policies`}, ${inFlight} in flight`;
      return [{ title, bars: rows.map((row) => bar(row, ofRow(row), labelOf(row))), mark }];
    }),
  );
}

function redisPlot(results) {
  return bars({
    title: 'Decisions in Redis, of raw INCR in the same round',
    description:
      'Bars of decisions a second, relative to raw INCR through the same client. The tables hold the figures.',
    panels: redisPanels(
      results,
      (row) => row.ofFloor?.perSecond,
      (row) => `${figure(row.ofFloor.perSecond)} (${rate(row.figures.perSecond)} a second)`,
      1,
    ),
  });
}

function redisCpuPlot(results) {
  return bars({
    title: 'Decisions in Redis: CPU time of the client, µs a decision',
    description: 'Bars of client CPU time a decision. The tables hold the figures.',
    panels: redisPanels(
      results,
      (row) => row.figures?.cpuUs,
      (row) => `${figure(row.figures.cpuUs)} (Redis ${figure(row.figures.redisUs)})`,
    ),
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
    [false, true].map((onOtherNode) => byHttp(results, { framework, onOtherNode })),
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

const lineOf = (name, rows, field) => ({ name, points: rows.map(({ at, figures }) => [at, figures[field]?.median]) });

const pointAxis = (rows, label, tickFormat) => ({
  type: 'point',
  padding: 0,
  domain: rows.map(({ at }) => at),
  label,
  tickFormat,
});

function keysPlot(results) {
  const redis = byScale(results, { axis: 'keys', store: 'redis' });
  const memory = (name) => byScale(results, { axis: 'keys', store: 'memory', name });
  const synchronous = memory('sluice, synchronous');
  return lines({
    title: 'How the cost grows with keys',
    description: 'Curves over the number of keys, drawn at random. The tables hold the figures.',
    x: pointAxis(redis, 'keys', spaced),
    panels: [
      {
        title: 'In memory: CPU of a decision, µs',
        lines: [lineOf('consume', memory('sluice, consume'), 'cpuUs'), lineOf('synchronous', synchronous, 'cpuUs')],
      },
      {
        title: 'In Redis: CPU of a decision, µs',
        lines: [lineOf('client', redis, 'cpuUs'), lineOf('Redis', redis, 'redisUs')],
      },
      {
        title: 'Bytes a key',
        lines: [
          lineOf('memory, beyond the key', synchronous, 'bytesPerKey'),
          lineOf('Redis, with the key', redis, 'bytesPerKey'),
        ],
      },
    ],
  });
}

function growthPlot(results, axis, title) {
  const redis = byScale(results, { axis, store: 'redis' });
  const memory = byScale(results, { axis, store: 'memory' });
  return lines({
    title: `How the cost grows: ${title.toLowerCase()}`,
    description: `Curves over ${axis}. The tables hold the figures.`,
    x: pointAxis(redis, axis, String),
    panels: [
      {
        title: 'In Redis: CPU of a decision, µs',
        lines: [
          lineOf('client', redis, 'cpuUs'),
          lineOf('Redis', redis, 'redisUs'),
          lineOf('in scripts', redis, 'commandUs'),
        ],
      },
      ...(memory.length > 0
        ? [{ title: 'In memory: CPU of a decision, µs', lines: [lineOf('synchronous', memory, 'cpuUs')] }]
        : []),
    ],
  });
}

function processesPlot(results) {
  const many = byScale(results, { axis: 'processes' });
  const one = byScale(results, { axis: 'processes, one key' });
  return lines({
    title: 'How the cost grows: processes on one Redis',
    description: 'Curves over the number of processes. The tables hold the figures.',
    x: pointAxis(many, 'processes', String),
    panels: [
      {
        title: 'CPU of Redis a decision, µs',
        lines: [lineOf('10 000 keys', many, 'redisUs'), lineOf('one key', one, 'redisUs')],
      },
      {
        title: 'CPU of the client a decision, µs',
        lines: [lineOf('10 000 keys', many, 'cpuUs'), lineOf('one key', one, 'cpuUs')],
      },
    ],
  });
}
