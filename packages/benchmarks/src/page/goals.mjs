import { table } from '../../../../scripts/plots/table.mjs';
import { keyForms, shapes } from '../measure/shapes.mjs';
import { tidy } from '../measure/spread.mjs';
import { byHttp, byMemory, byRedis, byService, nodesOf } from './rows.mjs';

/** The goals: the minimum, the aim, the row, and the figure that compares builds. */
export const goals = [
  redis('Redis, 10 000 keys, 64 in flight, of raw INCR', { shape: 'many', inFlight: 64 }, 0.8, 1),
  redis('Redis, 10 000 keys, 256 in flight, of raw INCR', { shape: 'many', inFlight: 256 }, 1, 1.2),
  redis('the same, client CPU of a decision, 64, µs', { shape: 'many', inFlight: 64 }, 2.5, 2, clientCpu),
  redis('the same, client CPU of a decision, 256, µs', { shape: 'many', inFlight: 256 }, 2, 1.3, clientCpu),
  redis('Redis, one hot key, 64 in flight, of raw INCR', { shape: 'one', inFlight: 64 }, 3.5, 6),
  redis('Redis, one hot key, 256 in flight, of raw INCR', { shape: 'one', inFlight: 256 }, 7.5, 12),
  redis('three atomic policies, 10 000 keys, 64, of raw INCR', { shape: 'many', inFlight: 64, policies: 3 }, 0.45, 0.6),
  redis(
    'three atomic policies, 10 000 keys, 256, of raw INCR',
    { shape: 'many', inFlight: 256, policies: 3 },
    0.55,
    0.8,
  ),
  redis('90 % denied, 64 in flight, of raw INCR', { shape: 'denied', inFlight: 64 }, 2, 5),
  redis('lease, hot key, 64 in flight, of raw INCR', { shape: 'one', inFlight: 64, name: 'sluice, lease' }, 20, 50),
  redis('a lone decision, time of a raw EVALSHA', { shape: 'many', inFlight: 1 }, 1.15, 1.05, timeOfEvalsha),
  memory('memory, consume, one key, of MemoryStore.increment', 'sluice, consume', 'one', 0.75, 0.9),
  memory('memory, consume, 10 000 keys, of the same', 'sluice, consume', 'many', 0.75, 0.9),
  memory('memory, synchronous, one key, of the same', 'sluice, synchronous', 'one', 1, 1.5),
  memory('memory, synchronous, 10 000 keys, of the same', 'sluice, synchronous', 'many', 1, 1.5),
  memory('memory, bytes a key beyond the key, a million keys', 'sluice, consume', 'many', 120, 80, bytesPerKey),
  ...['one', 'many']
    .flatMap((shape) => [
      formOfKey(byMemory, `memory, consume, ${shapes[shape].says}`, { name: 'sluice, consume', shape }),
      formOfKey(byRedis, `Redis, ${shapes[shape].says}, 64 in flight`, { name: 'sluice', shape }),
    ])
    .flat(),
  {
    ...{ says: 'memory, five algorithms in one process, of each alone', atLeast: 0.8, aim: 1, isLess: false },
    ...{ ofRow: ofFloorPerSecond, figure: 'perSecond', peers: () => [] },
    ours: (results) => byMemory(results, { scene: 'five-algorithms', name: 'sluice, five algorithms' })[0],
  },
  ...['express', 'fastify', 'koa', 'nestjs'].map((name) => http(name, 'memory', 0.93, 0.96)),
  http('express', 'memory', 0.93, 0.96, true),
  ...['express', 'fastify', 'koa', 'nestjs'].map((name) => http(name, 'redis', 0.8, 0.88)),
  http('express', 'redis', 0.8, 0.88, true),
  service('20 000 decisions a second, p99 above a constant of grpc-js at 10 000, ms', 'rls', 1.6, 0.8, p99Beyond),
  service(
    '4000 decisions a second, p99 above a constant of grpc-js at the same rate, ms',
    'rls-4000',
    1.6,
    0.8,
    p99Beyond,
  ),
  service('16 descriptors, 2000 a second, p99 above the same, ms', 'rls-16', 3, 1.5, p99Beyond),
  service('denied from memory, of our codec alone (CPU)', 'rls-denied', 0.85, 0.95, shareOfCpu),
  service('forward auth, of two header fields by hand (CPU)', 'forward-auth', 0.5, 0.7, shareOfCpu),
  service('resident memory at 20 000 decisions a second, MiB', 'rls', 120, 100, (row) => row.figures.rssMiB),
];

/** A line of Markdown for each goal, measured or not. */
export function goalLines(results) {
  const head = ['', 'at least', 'aim', 'measured', 'half of the rounds', '', 'best peer', 'beside it'];
  const lines = goals.map((goal) => lineOf(goal, results));
  const count = (...words) => lines.filter((line) => words.some((word) => line.join(' | ').includes(word))).length;
  const summary =
    `${count('| aim |')} of ${goals.length} goals reach the aim, ${count('| reached |')} the minimum, ` +
    `${count('| MISSED |')} are missed, ${count('not measured', 'NOT AVAILABLE')} not measured; in ${count('AHEAD of us')} a peer is ahead.`;
  return [...table([head, ...lines]).split('\n'), '', summary];
}

function lineOf({ says, atLeast, aim, isLess, ofRow, ours, peers, beside }, results) {
  const row = ours(results);
  const wanted = [says, String(atLeast), String(aim)];
  if (row === undefined) return [...wanted, 'not measured', '', '', '', ''];
  if (row.unavailable !== undefined) return [...wanted, `NOT AVAILABLE: ${row.unavailable}`, '', '', '', ''];
  const measured = ofRow(row);
  const isGood = (figure, goal) => (isLess ? figure <= goal : figure >= goal);
  const verdict = isGood(measured.median, aim) ? 'aim' : isGood(measured.median, atLeast) ? 'reached' : 'MISSED';
  const rivals = peers(results)
    .map((peer) => ({ name: peer.name, figure: ofRow(peer)?.median }))
    .filter(({ figure }) => figure !== undefined)
    .sort((a, b) => (isLess ? a.figure - b.figure : b.figure - a.figure));
  const [best] = rivals;
  const ahead = best === undefined || isGood(measured.median, best.figure);
  return [
    ...wanted,
    shown(measured.median),
    `${shown(measured.low)} to ${shown(measured.high)}`,
    verdict,
    best === undefined ? '' : `${shown(best.figure)} ${best.name}${ahead ? '' : ' (AHEAD of us)'}`,
    beside?.(row) ?? '',
  ];
}

function shown(figure) {
  return figure >= 100 ? String(Math.round(figure)) : figure.toPrecision(3);
}

function redis(says, { name = 'sluice', policies = 1, ...scene }, atLeast, aim, ofRow = ofIncr) {
  const where = { ...scene, policies };
  return {
    ...{ says, atLeast, aim, ofRow, isLess: ofRow !== ofIncr, figure: ofRow === clientCpu ? 'cpuUs' : 'perSecond' },
    ours: (results) => byRedis(results, { ...where, name })[0],
    peers: (results) => byRedis(results, { ...where, kind: 'peer' }),
  };
}

function memory(says, name, shape, atLeast, aim, ofRow = ofFloorPerSecond) {
  return {
    ...{ says, atLeast, aim, ofRow, isLess: ofRow === bytesPerKey },
    figure: ofRow === bytesPerKey ? 'bytesPerKey' : 'perSecond',
    ours: (results) => byMemory(results, { name, shape })[0],
    peers: (results) => byMemory(results, { kind: 'peer', shape }),
  };
}

/** A goal for each form of keys: the time of a decision, of the time with the key `k`. */
function formOfKey(rowsOf, where, wanted) {
  return [
    ['space', 1.25, 1],
    ['unicode', 1.25, 1],
    ['long', 2.2, 1.5],
  ].map(([form, atLeast, aim]) => ({
    ...{ says: `${where}: ${keyForms[form]}, time of ${keyForms.k}`, atLeast, aim, isLess: true },
    ...{ ofRow: (row) => inverse(row.ofFloor.perSecond), figure: 'perSecond', peers: () => [] },
    ours: (results) => rowsOf(results, { scene: 'key-forms', kind: 'ours', form, ...wanted })[0],
  }));
}

function http(framework, store, atLeast, aim, onOtherNode = false) {
  const at = (results, kind) => {
    const own = results.http?.machine.node;
    const node = onOtherNode ? nodesOf(results).findLast((one) => one !== own) : own;
    return node === undefined ? [] : byHttp(results, { framework, store, kind, node });
  };
  return {
    says: `HTTP, ${framework}${onOtherNode ? ' on another Node' : ''}, ${store}, of two header fields by hand (CPU)`,
    ...{ atLeast, aim, ofRow: (row) => inverse(row.ofFloor.cpuUs), isLess: false, figure: 'cpuUs' },
    ours: (results) => at(results, 'ours')[0],
    peers: (results) => at(results, 'peer'),
    beside: ({ node, ofBare, ofFloor }) =>
      `Node ${node}; of the bare server ${shown(inverse(ofBare.cpuUs).median)} (CPU), ` +
      `${shown(ofBare.perSecond.median)} (requests a second); of by hand ${shown(ofFloor.perSecond.median)} (requests a second)`,
  };
}

function service(says, scene, atLeast, aim, ofRow) {
  return {
    ...{
      says: `service: ${says}`,
      atLeast,
      aim,
      ofRow,
      isLess: ofRow !== shareOfCpu,
      figure: 'cpuUs',
      peers: () => [],
    },
    ours: (results) => byService(results, { scene, kind: 'ours' })[0],
    beside: ({ figures }) =>
      `${shown(figures.perSecond.median)} a second, ${shown(figures.cpuUs.median)} µs CPU, p99 ${shown(figures.p99Ms.median)} ms`,
  };
}

function p99Beyond(row) {
  return row.figures.p99BeyondMs;
}

function shareOfCpu(row) {
  return inverse(row.ofFloor.cpuUs);
}

function ofIncr(row) {
  return row.ofFloor?.perSecond;
}

function ofFloorPerSecond(row) {
  return row.ofFloor.perSecond;
}

function clientCpu(row) {
  return row.figures?.cpuUs;
}

function bytesPerKey(row) {
  return row.figures.bytesPerKey;
}

function timeOfEvalsha({ ofEvalsha }) {
  return ofEvalsha && inverse(ofEvalsha.perSecond);
}

/** The ratio of times: the time of this one divided by that of the floor. */
export function inverse({ median, low, high }) {
  return { median: tidy(1 / median), low: tidy(1 / high), high: tidy(1 / low) };
}
