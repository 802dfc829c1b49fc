import { table } from './table.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byScale, valuesOf } from './rows.mjs';

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
