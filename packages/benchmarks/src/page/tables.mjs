import { table } from '../../../../scripts/plots/table.mjs';
import { keyForms, shapes } from '../measure/shapes.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byHttp, byMemory, byRedis, byScale, nodesOf, valuesOf } from './rows.mjs';
import { inverse } from './goals.mjs';

/** Decisions in Redis, a table for each shape. */
export function redisTables(results) {
  const scenes = [...Object.keys(shapes).map((shape) => ({ shape, policies: 1 })), { shape: 'many', policies: 3 }];
  return scenes.flatMap(({ shape, policies }) => {
    const rows = byRedis(results, { shape, policies });
    const flights = valuesOf(rows, 'inFlight');
    const says = `${shapes[shape].says}${policies === 1 ? '' : `, ${policies} policies`}`;
    return [`### ${says}`, '', redisTable(rows, flights), ''];
  });
}

function redisTable(rows, flights) {
  const deep = flights.includes(64) ? 64 : flights[0];
  const head = [
    '',
    ...flights.map((n) => `of raw INCR, ${n} in flight`),
    `a second, ${deep}`,
    ...flights.map((n) => `client µs, ${n}`),
    `Redis µs, ${deep}`,
    `p50 / p99 ms, ${deep}`,
    'bytes a key',
    'bytes in / out',
  ];
  const lines = valuesOf(rows, 'name').map((name) => {
    const at = (n) => rows.find((row) => row.name === name && row.inFlight === n) ?? {};
    const { figures = {}, unavailable } = at(deep);
    if (unavailable !== undefined) return [name, `not available: ${unavailable}`, ...head.slice(2).map(() => '')];
    return [
      name,
      ...flights.map((n) => figure(at(n).ofFloor?.perSecond)),
      rate(figures.perSecond),
      ...flights.map((n) => figure(at(n).figures?.cpuUs)),
      figure(figures.redisUs),
      `${figure(figures.p50Ms)} / ${figure(figures.p99Ms)}`,
      figure(figures.bytesPerKey),
      `${figure(figures.inBytes)} / ${figure(figures.outBytes)}`,
    ];
  });
  return table([head, ...lines]);
}

/** Decisions in memory, by CPU time. */
export function memoryTable(results) {
  const rows = byMemory(results, {});
  const names = valuesOf(rows, 'name');
  const used = valuesOf(rows, 'shape');
  const head = ['decisions a second of CPU', ...used.map((shape) => shapes[shape].says), 'bytes a key beyond the key'];
  const lines = names.map((name) => [
    name,
    ...used.map((shape) => {
      const [row] = byMemory(results, { name, shape });
      return `${rate(row.figures.perSecond)} (${figure(row.ofFloor.perSecond)})`;
    }),
    figure(byMemory(results, { name, shape: 'many' })[0]?.figures.bytesPerKey),
  ]);
  return table([head, ...lines]);
}

/** The cost of each form of keys, relative to the first form in the same round. */
export function keyFormsTable(results) {
  const forms = Object.keys(keyForms);
  const wanted = { scene: 'key-forms', kind: 'ours' };
  const rows = [...byMemory(results, wanted), ...byRedis(results, wanted)].filter(({ form }) => form === forms[0]);
  if (rows.length === 0) return [];
  const head = [`time of a decision, of ${keyForms[forms[0]]}`, '', ...forms.map((form) => keyForms[form])];
  const lines = rows.map(({ group, name, shape }) => [
    `${group === 'redis' ? 'Redis, 64 in flight' : 'memory'}, ${name}`,
    shapes[shape].says,
    ...forms.map((form) => {
      const [row] = (group === 'redis' ? byRedis : byMemory)(results, { ...wanted, name, shape, form });
      return `${figure(inverse(row.ofFloor.perSecond))} (${rate(row.figures.perSecond)} a second)`;
    }),
  ]);
  return [table([head, ...lines])];
}

/** Five algorithms in one process, beside each in its own. */
export function algorithmsTable(results) {
  const rows = byMemory(results, { scene: 'five-algorithms', kind: 'ours' });
  if (rows.length === 0) return [];
  const head = ['one key', 'decisions a second of CPU', 'of the five alone'];
  return [
    table([
      head,
      ...rows.map(({ name, figures, ofFloor }) => [name, rate(figures.perSecond), figure(ofFloor.perSecond)]),
    ]),
  ];
}

/** Requests over HTTP, a table for each framework and Node. */
export function httpTables(results) {
  return valuesOf(results.http?.rows ?? [], 'framework').flatMap((framework) =>
    nodesOf(results).flatMap((node) => {
      const rows = byHttp(results, { framework, node });
      if (rows.length === 0) return [];
      return [`### ${framework}, Node ${node}`, '', httpTable(rows), ''];
    }),
  );
}

function httpTable(rows) {
  const head = [
    '',
    'counts in',
    'server CPU µs a request',
    'of by hand (CPU)',
    'of bare (CPU)',
    'requests a second',
    'of by hand',
    'of bare',
    'server busy',
    'p50 / p99 ms',
  ];
  const lines = rows.map(({ name, store, figures, ofFloor, ofBare }) => [
    name,
    store === 'none' ? '' : store,
    figure(figures.cpuUs),
    figure(inverse(ofFloor.cpuUs)),
    figure(inverse(ofBare.cpuUs)),
    rate(figures.perSecond),
    figure(ofFloor.perSecond),
    figure(ofBare.perSecond),
    `${Math.round(figures.busyShare.median * 100)} %`,
    `${figure(figures.p50Ms)} / ${figure(figures.p99Ms)}`,
  ]);
  return table([head, ...lines]);
}

/** The growth of the cost along an axis. */
function scaleTable(results, axis, store) {
  const rows = byScale(results, { axis, store });
  const names = valuesOf(rows, 'name');
  const head = [
    axis,
    ...(names.length > 1 ? [''] : []),
    ...(store === 'redis'
      ? ['a second', 'client µs', 'Redis µs', 'in scripts µs', 'bytes in / out', 'p50 / p99 ms']
      : ['a second of CPU', 'CPU µs']),
    ...(axis === 'keys' || store === 'memory' ? ['bytes a key'] : []),
  ];
  const lines = rows.map(({ at, name, figures }) => [
    spaced(at),
    ...(names.length > 1 ? [name] : []),
    rate(figures.perSecond),
    figure(figures.cpuUs),
    ...(store === 'redis'
      ? [
          figure(figures.redisUs),
          figure(figures.commandUs),
          `${figure(figures.inBytes)} / ${figure(figures.outBytes)}`,
          `${figure(figures.p50Ms)} / ${figure(figures.p99Ms)}`,
        ]
      : []),
    ...(axis === 'keys' || store === 'memory' ? [figure(figures.bytesPerKey)] : []),
  ]);
  return table([head, ...lines]);
}

/** The tables of growth, one after the other. */
export function scaleTables(results) {
  return [
    ['Keys, in memory', 'keys', 'memory'],
    ['Keys, in Redis, 64 in flight', 'keys', 'redis'],
    ['Policies of a request, in memory, 10 000 keys', 'policies', 'memory'],
    ['Policies of a request, in Redis, 64 in flight', 'policies', 'redis'],
    ['Processes on one Redis, 64 in flight in each, 10 000 keys', 'processes', 'redis'],
    ['Processes on one Redis, 64 in flight in each, one key', 'processes, one key', 'redis'],
    ['Nodes of a cluster, 64 in flight, 10 000 keys', 'nodes', 'redis'],
  ].flatMap(([says, axis, store]) => [`### ${says}`, '', scaleTable(results, axis, store), '']);
}
