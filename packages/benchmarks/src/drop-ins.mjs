// What the drop-ins of @sluice/compat cost over HTTP, beside the packages that they stand in for: CPU of the server's process above
// that of a bare one, ours by theirs. The processes are asked in turn. Run `npm run build` first.
//
//   node packages/benchmarks/src/drop-ins.mjs [--only 'express drop-in'] [--rounds 60] [--requests 400] [--node PATH]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
// Not by its name, because the package's index imports jest.
import { startRedis } from '../../testkit/dist/redis-server.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '60' },
    requests: { type: 'string', default: '400' },
    node: { type: 'string', default: process.execPath },
  },
});
const [rounds, requests] = [Number(values.rounds), Number(values.requests)];
/** Ours, and theirs. */
const PAIRS = [
  ['express drop-in', 'express peer'],
  ['express drop-in redis', 'express peer redis'],
  ['express our store', 'express peer'],
  ['express our store redis', 'express peer redis'],
  ['fastify our store', 'fastify peer'],
  ['fastify our store redis', 'fastify peer redis'],
  ['nest our store', 'nest peer'],
  ['nest our store redis', 'nest peer redis'],
];
const IN_FLIGHT = [1, 64];
/** Requests until the code is compiled. */
const WARM_UP = 5000;

const redis = await startRedis();
console.log(
  'microseconds of CPU above bare, ours and theirs: the medians of the rounds; ours by theirs, and the middle half of the rounds',
);
for (const [ours, theirs] of PAIRS.filter(([name]) => name.startsWith(values.only))) {
  const servers = await Promise.all([`${ours.split(' ')[0]} bare`, ours, theirs].map(started));
  for (const many of IN_FLIGHT) {
    for (const server of servers) await cpuOf(server, many, WARM_UP);
    const above = [];
    for (let round = 0; round < rounds; round++) {
      const costs = [];
      for (let i = 0; i < 3; i++) costs[(round + i) % 3] = await cpuOf(servers[(round + i) % 3], many);
      above.push({ own: costs[1] - costs[0], peer: costs[2] - costs[0] });
    }
    const [own, peer] = ['own', 'peer'].map((side) => quartiles(above.map((costs) => costs[side]))[1]);
    const [low, , high] = quartiles(above.map((costs) => costs.own / costs.peer));
    console.log(
      `${ours} by ${theirs}, ${many} in flight: ${own.toFixed(1)} and ${peer.toFixed(1)}: ${(own / peer).toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
    );
  }
  for (const { child } of servers) child.disconnect();
}
await redis.stop();

function quartiles(numbers) {
  const sorted = numbers.toSorted((first, second) => first - second);
  return [0.25, 0.5, 0.75].map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
}

async function started(contender) {
  const child = fork(fileURLToPath(new URL('children/drop-in-server.mjs', import.meta.url)), [contender, redis.url], {
    execPath: values.node,
  });
  const [port] = await once(child, 'message');
  return { child, port, agent: new Agent({ keepAlive: true, maxSockets: 64 }) };
}

/** Microseconds of the server's process for one request. */
async function cpuOf({ child, port, agent }, inFlight, count = requests) {
  const before = await asked(child);
  let left = count;
  const ask = async () => {
    while (left-- > 0) {
      const sent = request({ host: '127.0.0.1', port, agent }).end();
      const [response] = await once(sent, 'response');
      response.resume();
      await once(response, 'end');
      if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, ask));
  return ((await asked(child)) - before) / count;
}

async function asked(child) {
  child.send('cpu');
  const [micros] = await once(child, 'message');
  return micros;
}
