// What the drop-ins of @sluice/compat cost over HTTP, beside the packages that they stand in for: CPU of the server's process above
// that of a bare one, ours by theirs. The processes are asked in turn. Run `npm run build` first.
//
//   node packages/benchmarks/src/drop-ins.mjs [--rounds 15] [--requests 2000]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
// Not by its name, because the package's index imports jest.
import { startRedis } from '../../testkit/dist/redis-server.js';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, requests: { type: 'string', default: '2000' } },
});
const [rounds, requests] = [Number(values.rounds), Number(values.requests)];
/** Ours, theirs, and how many requests are in flight. */
const PAIRS = [
  ['express drop-in', 'express peer', [1, 64]],
  ['express drop-in redis', 'express peer redis', [1, 64]],
  ['express our store redis', 'express peer redis', [1, 64]],
  ['fastify our store', 'fastify peer', [1, 64]],
  ['fastify our store redis', 'fastify peer redis', [1, 64]],
];

const redis = await startRedis();
console.log('ours by theirs, CPU above bare: median and the middle half of the rounds');
for (const [ours, theirs, inFlight] of PAIRS) {
  const servers = await Promise.all([`${ours.split(' ')[0]} bare`, ours, theirs].map(started));
  for (const many of inFlight) {
    for (const server of servers) await cpuOf(server, many);
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      const [bare, own, peer] = [
        await cpuOf(servers[0], many),
        await cpuOf(servers[1], many),
        await cpuOf(servers[2], many),
      ];
      ratios.push((own - bare) / (peer - bare));
    }
    ratios.sort((first, second) => first - second);
    const [low, middle, high] = [0.25, 0.5, 0.75].map((share) =>
      ratios[Math.floor(share * (ratios.length - 1))].toFixed(2),
    );
    console.log(`${ours} by ${theirs}, ${many} in flight: ${middle} (${low} to ${high})`);
  }
  for (const { child } of servers) child.disconnect();
}
await redis.stop();

async function started(contender) {
  const child = fork(fileURLToPath(new URL('children/drop-in-server.mjs', import.meta.url)), [contender, redis.url]);
  const [port] = await once(child, 'message');
  return { child, port, agent: new Agent({ keepAlive: true, maxSockets: 64 }) };
}

/** Microseconds of the server's process for one request. */
async function cpuOf({ child, port, agent }, inFlight) {
  const before = await asked(child);
  let left = requests;
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
  return ((await asked(child)) - before) / requests;
}

async function asked(child) {
  child.send('cpu');
  const [micros] = await once(child, 'message');
  return micros;
}
