import { table } from './table.mjs';
import { redisQuestions, shapes } from '../measure/shapes.mjs';
import { inverse } from '../measure/spread.mjs';
import { figure, rate, spaced } from './numbers.mjs';
import { byHttp, byMemory, byRedis, nodesOf, valuesOf } from './rows.mjs';

const SERVICE = {
  rls: 'Envoy, on Redis',
  'rls-4000': 'the same, fewer calls',
  'rls-16': 'the same, 16 descriptors',
  'rls-denied': 'the same, denied from memory',
  'forward-auth': 'forward auth, in memory',
};
const NAMES = { express: 'Express', fastify: 'Fastify', koa: 'Koa', nestjs: 'NestJS' };

/** Each question in which a peer is ahead of us, with the peers that are, the best one first. */
export function losses(results) {
  return [...memoryLosses(results), ...redisLosses(results), ...httpLosses(results)];
}

function memoryLosses(results) {
  return Object.keys(shapes).flatMap((shape) => {
    const [ours] = byMemory(results, { name: 'sluice, consume', shape });
    const perSecond = (row) => row.figures.perSecond;
    return loss(`In memory, ${shapes[shape].says}`, ours, byMemory(results, { kind: 'peer', shape }), perSecond, {
      show: rate,
      unit: 'decisions a second of CPU time',
    });
  });
}

function redisLosses(results) {
  return redisQuestions.flatMap(({ says, shape, policies, inFlight }) => {
    const question = { shape, policies, inFlight };
    const [ours] = byRedis(results, { ...question, name: 'sluice' });
    const ofIncr = (row) => row.ofFloor?.perSecond;
    return loss(`On Redis, ${says}`, ours, byRedis(results, { ...question, kind: 'peer' }), ofIncr, {
      show: percent,
      unit: 'of a plain `INCR`',
    });
  });
}

function httpLosses(results) {
  return servers(results).flatMap(({ says, rows }) =>
    ['memory', 'redis'].flatMap((store) => {
      const at = (kind) => rows.filter((row) => row.kind === kind && row.store === store);
      const share = (row) => inverse(row.ofFloor.cpuUs);
      return loss(`${says}, ${store === 'redis' ? 'on Redis' : 'in memory'}`, at('ours')[0], at('peer'), share, {
        show: ({ median }) => `${(median * 100).toFixed(1)} %`,
        unit: 'of a server that writes two header fields',
      });
    }),
  );
}

const percent = ({ median }) => `${Math.round(median * 100)} %`;

function loss(says, ours, peers, figureOf, { show, unit }) {
  const own = ours && figureOf(ours);
  if (own === undefined) return [];
  const ahead = peers
    .filter((peer) => figureOf(peer)?.median > own.median)
    .sort((one, other) => figureOf(other).median - figureOf(one).median)
    .map((peer) => `${peer.name} ${show(figureOf(peer))}`);
  return ahead.length === 0 ? [] : [`- ${says}: sluice ${show(own)}, ${ahead.join(', ')} ${unit}.`];
}

/** Decisions a second of CPU time, and bytes of a key. */
export function memoryQuestion(results) {
  const head = ['decisions a second of CPU time', ...Object.values(shapes).map(({ says }) => says), 'bytes a key'];
  const lines = valuesOf(byMemory(results, {}), 'name').map((name) => {
    const at = (shape) => byMemory(results, { name, shape })[0]?.figures;
    return [name, ...Object.keys(shapes).map((shape) => rate(at(shape)?.perSecond)), figure(at('many')?.bytesPerKey)];
  });
  return [table([head, ...lines])];
}

/** Decisions a second of those of a plain INCR, and what one of them costs. */
export function redisQuestion(results) {
  const head = ['of a plain INCR', ...redisQuestions.map(({ says }) => says), 'client µs', 'Redis µs', 'bytes a key'];
  const rows = byRedis(results, { policies: 1, inFlight: 64 });
  const lines = valuesOf(rows, 'name').map((name) => {
    const at = ({ shape, policies, inFlight }) => byRedis(results, { shape, policies, inFlight, name })[0];
    const usual = at({ shape: 'many', policies: 1, inFlight: 64 })?.figures;
    return [
      name,
      ...redisQuestions.map((question) => figure(at(question)?.ofFloor?.perSecond)),
      figure(usual?.cpuUs),
      figure(usual?.redisUs),
      figure(usual?.bytesPerKey),
    ];
  });
  return [table([head, ...lines])];
}

/** The share of a server with two header fields and no limit that is left, by CPU time, with the time of a request. */
export function httpQuestion(results) {
  const lines = servers(results).flatMap(({ says, rows }) =>
    valuesOf(
      rows.filter(({ kind }) => kind === 'ours' || kind === 'peer'),
      'name',
    ).map((name) => {
      const at = (store) => {
        const row = rows.find((one) => one.name === name && one.store === store);
        return row === undefined ? '' : `${percent(inverse(row.ofFloor.cpuUs))} (${figure(row.figures.cpuUs)} µs)`;
      };
      return [says, name, at('memory'), at('redis')];
    }),
  );
  return lines.length === 0 ? [] : [table([['server', '', 'in memory', 'on Redis'], ...lines])];
}

/** Calls of the service at a rate, and forward auth in a closed loop, beside what answers without a decision. */
export function serviceQuestion(results) {
  const head = ['', '', 'calls a second', 'CPU µs', 'p50 / p99 ms', 'MiB'];
  const lines = results.service.rows.map(({ scene, name, figures }) => [
    SERVICE[scene],
    name,
    ...[spaced(Math.round(figures.perSecond.median)), figure(figures.cpuUs)],
    ...[`${figure(figures.p50Ms)} / ${figure(figures.p99Ms)}`, figure(figures.rssMiB)],
  ]);
  return [table([head, ...lines])];
}

function servers(results) {
  return valuesOf(results.http?.rows ?? [], 'framework').flatMap((framework) =>
    nodesOf(results).flatMap((node) => {
      const rows = byHttp(results, { framework, node });
      return rows.length === 0 ? [] : [{ says: `${NAMES[framework] ?? framework}, Node ${node.split('.')[0]}`, rows }];
    }),
  );
}
