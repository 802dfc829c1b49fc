// What a decision of the service costs in this build, by what it costs in that of another checkout: CPU time of the
// service's process, over gRPC, /v1/consume and /auth, in memory. The two processes are asked in turn, each as often first
// as second. Both have one core, the clients another. Run `npm run build` first, here and there.
//
//   node packages/benchmarks/src/service-pairs.mjs FOLDER [--pairs 30] [--ms 1000] [--only grpc,native,auth]
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GrpcConnection, messageOf, rateLimitRequest } from './measure/grpc-connection.mjs';
import { openConnections } from './measure/http-connection.mjs';
import { median, quantile } from './measure/spread.mjs';
import { MEASURED, OTHER, isPinned, moveTo } from './processes/cores.mjs';
import { Worker } from './processes/worker.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const [CONNECTIONS, CALLS] = [32, 50];
const messages = Array.from({ length: 1000 }, (_, i) =>
  messageOf(rateLimitRequest('many', [[['rule-0', `user-${i}`]]])),
);

/** Each asks a service for a time, without a pause, and returns how many answers it got. */
const WAYS = {
  grpc: ({ grpc }, ms) => callsOf(grpc, ms),
  native: ({ http }, ms) => requestsOf(http, ms, '/v1/consume', JSON.stringify({ keys: { login: 'ann' } })),
  auth: ({ http }, ms) => requestsOf(http, ms, '/auth/orders'),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '30' },
    ms: { type: 'string', default: '1000' },
    only: { type: 'string', default: Object.keys(WAYS).join() },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the folder of another checkout that is built');
const [pairs, ms] = [Number(values.pairs), Number(values.ms)];
moveTo(OTHER, process.pid);
const services = await Promise.all(
  [fileURLToPath(new URL('../../..', import.meta.url)), resolve(other)].map(async (folder) => {
    const worker = new Worker('paired-service.mjs', { core: MEASURED, flags: ['--max-semi-space-size=4'] });
    return { worker, ports: await worker.ask('open', { folder }) };
  }),
);

console.log(
  `the other build by this one, so that above 1 this one is cheaper; ${isPinned ? '' : 'NOT '}pinned to cores`,
);
for (const name of values.only.split(',')) {
  const ratios = [];
  const costs = [[], []];
  for (let pair = -2; pair < pairs; pair++) {
    const order = pair % 2 === 0 ? [0, 1] : [1, 0];
    const found = [];
    for (const i of order) found[i] = await costOf(services[i], WAYS[name]);
    if (pair < 0) continue; // warm
    ratios.push(found[1] / found[0]);
    costs.forEach((list, i) => list.push(found[i]));
  }
  const shown = (list, digits = 2) =>
    `${median(list).toFixed(digits)} (${Math.min(...list).toFixed(digits)} to ${Math.max(...list).toFixed(digits)})`;
  const half = `middle half ${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}`;
  console.log(
    `${name}: ${shown(ratios)}, ${half}, ${pairs} pairs; this ${shown(costs[0], 1)} µs, other ${shown(costs[1], 1)} µs`,
  );
}
await Promise.all(services.map(({ worker }) => worker.end()));

/** Microseconds of the service's process for one answer. */
async function costOf({ worker, ports }, ask) {
  const before = await worker.ask('usage');
  const answers = await ask(ports, ms);
  const after = await worker.ask('usage');
  return (after.cpuUs - before.cpuUs) / answers;
}

async function requestsOf(port, forMs, path, body) {
  const clients = await openConnections(port, CONNECTIONS, { path, body });
  const endMs = performance.now() + forMs;
  let answers = 0;
  await Promise.all(
    clients.map(async (client) => {
      do {
        const status = await client.ask();
        if (status !== '200') throw new Error(`${path}: ${status}`);
        answers++;
      } while (performance.now() < endMs);
    }),
  );
  for (const client of clients) client.end();
  return answers;
}

async function callsOf(port, forMs) {
  const endMs = performance.now() + forMs;
  let [answers, sent] = [0, 0];
  const connections = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const connection = await GrpcConnection.open(port, PATH, (_dueMs, code) => {
        if (code === undefined) throw new Error('a call has failed');
        answers++;
        if (performance.now() < endMs) connection.call(messages[sent++ % messages.length], 0);
      });
      return connection;
    }),
  );
  for (const connection of connections) {
    for (let i = 0; i < CALLS; i++) connection.call(messages[sent++ % messages.length], 0);
  }
  while (connections.some(({ inFlight }) => inFlight > 0)) await new Promise((done) => setTimeout(done, 5));
  for (const connection of connections) connection.end();
  return answers;
}
