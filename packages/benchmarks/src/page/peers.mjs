import { table } from './table.mjs';
import { figure } from './numbers.mjs';
import { byHttp, byMemory, byRedis, nodesOf } from './rows.mjs';

/** The guide of each peer, with its framework, and its name on Redis if that is another one. */
export const PEERS = {
  'express-rate-limit': { framework: 'express', onRedis: 'rate-limit-redis' },
  'fastify-rate-limit': { name: '@fastify/rate-limit', framework: 'fastify' },
  'koa-ratelimit': { framework: 'koa' },
  'nestjs-throttler': { name: '@nestjs/throttler', framework: 'nestjs' },
  'rate-limiter-flexible': { framework: 'express' },
};

/** For the guide of each peer, what a decision and a request cost with ours and with it. */
export function besidePeers(results) {
  return Object.fromEntries(
    Object.entries(PEERS).map(([guide, peer]) => [`beside-${guide}`, beside(results, { name: guide, ...peer })]),
  );
}

function beside(results, { name, framework, onRedis = name }) {
  const many = { shape: 'many', policies: 1 };
  const decision = (says, find, ours, theirs) => row(says, find({ name: ours })[0], find({ name: theirs })[0]);
  const onRedisWith = (inFlight) => (wanted) => byRedis(results, { ...many, inFlight, ...wanted });
  const lines = [
    decision(
      'a decision in memory, 10 000 keys',
      (wanted) => byMemory(results, { shape: 'many', ...wanted }),
      'sluice, consume',
      name,
    ),
    decision('a decision on Redis, one in flight', onRedisWith(1), 'sluice', onRedis),
    decision('a decision on Redis, 64 in flight', onRedisWith(64), 'sluice', onRedis),
    ...nodesOf(results).flatMap((node) =>
      ['memory', 'redis'].map((store) => request(byHttp(results, { framework, node }), store, name)),
    ),
  ].filter((line) => line !== undefined);
  return lines.length === 0 ? [] : [table([['µs of CPU', 'Sluice', name, 'ours by theirs'], ...lines])];
}

function request(rows, store, name) {
  const [bare] = rows.filter((one) => one.name === 'bare');
  const at = (wanted) => rows.find((one) => one.name === wanted && one.store === store);
  if (bare === undefined) return undefined;
  const place = store === 'redis' ? 'on Redis' : 'in memory';
  const node = bare.node.split('.')[0];
  return row(`a request, Node ${node}, ${place} (${figure(bare.figures.cpuUs)} without)`, at('sluice'), at(name));
}

/** The range is the widest between the middle halves of the rounds. */
function row(says, ours, theirs) {
  if (ours === undefined || theirs === undefined) return undefined;
  const [own, peer] = [ours.figures.cpuUs, theirs.figures.cpuUs];
  const by = (one, other) => (one / other).toFixed(2);
  const ratio = `${by(own.median, peer.median)} (${by(own.low, peer.high)} to ${by(own.high, peer.low)})`;
  return [says, figure(own), figure(peer), ratio];
}
