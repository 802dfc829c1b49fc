import { table } from './table.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byMemory, byRedis, byScale } from './rows.mjs';

/** The share of a core to plan with: the rest is for peaks. */
const USED = 0.6;

/** The figures for planning, and their consequences. Every table separates measured from computed figures. */
export function capacityBlocks(results) {
  const isThere = results.scale && results.memory && results.redis;
  const measured = isThere ? readFigures(results) : undefined;
  return { 'capacity-figures': measured ? [figuresTable(measured)] : [] };
}

function readFigures(results) {
  const at = (wanted) => byRedis(results, { name: 'sluice', inFlight: 64, policies: 1, ...wanted })[0]?.figures;
  const [largest] = byScale(results, { axis: 'keys', store: 'redis' }).slice(-1);
  return {
    lone: at({ shape: 'many', inFlight: 1 }),
    many: at({ shape: 'many' }),
    three: at({ shape: 'many', policies: 3 }),
    hot: at({ shape: 'one' }),
    denied: at({ shape: 'denied' }),
    redisBytes: largest?.figures.bytesPerKey,
    memoryBytes: byMemory(results, { name: 'sluice, consume', shape: 'many' })[0]?.figures.bytesPerKey,
  };
}

function figuresTable({ lone, many, three, hot, denied, ...bytes }) {
  const head = ['measured', 'Redis µs', 'computed: a second and Redis core, at 60 %'];
  const line = (says, figures) =>
    figures === undefined
      ? [says, 'not measured', '']
      : [says, figure(figures.redisUs), rate({ median: (1e6 / figures.redisUs.median) * USED })];
  return [
    table([
      head,
      line('alone, one in flight', lone),
      line('10 000 keys, 64 in flight', many),
      line('three policies, 64 in flight', three),
      line('one hot key, 64 in flight', hot),
      line('90 % denied, 64 in flight', denied),
    ]),
    '',
    `100 machines with 1 000 requests a second each need ${cores(1e5, many)} Redis cores when batched, ` +
      `${cores(1e5, lone)} if requests never meet.`,
    '',
    `A million clients within a window take ${megabytes(1e6, bytes.redisBytes)} of Redis (${figure(bytes.redisBytes)} ` +
      `bytes each: key, value, expiry and tables), or ${megabytes(1e6, bytes.memoryBytes)} of each process's memory ` +
      `beyond the keys.`,
  ].join('\n');
}

/** The Redis cores that decide so many requests a second, each used to its share. */
function cores(perSecond, { redisUs }) {
  return Number(((perSecond * redisUs.median) / 1e6 / USED).toPrecision(2));
}

function megabytes(count, bytes) {
  return `${spaced(Math.round((count * bytes.median) / 2 ** 20))} MB`;
}
