// Measures the service beside envoyproxy/ratelimit, which go builds here: one process of each on the same core, in
// front of one Redis that shares the other core with the load, called in turn at a rate, in an open loop. A server of
// node:http2 that decides nothing stands beside them. Prints decisions per second of CPU and waits. Needs go (Debian,
// Ubuntu: apt-get install golang-go), or RATELIMIT, the path of a built one. Run `npm run build` first.
//
//   node packages/benchmarks/src/beside-ratelimit.mjs [--rates 4000,10000] [--rounds 3] [--slice-ms 10000]
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { findRatelimit } from './beside-ratelimit/find-ratelimit.mjs';
import { startBare, startOurs, startTheirs } from './beside-ratelimit/services.mjs';
import { interleave } from './measure/interleave.mjs';
import { median } from './measure/spread.mjs';
import { isPinned, OTHER } from './processes/cores.mjs';
import { readMeter, startServer } from './processes/redis.mjs';
import { Worker } from './processes/worker.mjs';
import { table } from './page/table.mjs';

const KEYS = 10_000;
const WARM_MS = 5_000;

const { values: given } = parseArgs({
  options: {
    rates: { type: 'string', default: '4000,10000' },
    rounds: { type: 'string', default: '3' },
    'slice-ms': { type: 'string', default: '10000' },
  },
});
const ratelimit = findRatelimit();
if (ratelimit === undefined) {
  console.log('There is no go here: envoyproxy/ratelimit cannot be built, and nothing was measured.');
  process.exit(1);
}

const redis = await startServer();
const load = new Worker('grpc-load.mjs', { core: OTHER });
await load.ask('open');
const services = [];
try {
  services.push(await startOurs('sluice', redis.urls[0]));
  services.push(await startTheirs('ratelimit', ratelimit.path, redis.urls[0]));
  const collected = { REDIS_PIPELINE_WINDOW: '150us' };
  services.push(await startTheirs('ratelimit, writes collected for 150 µs', ratelimit.path, redis.urls[0], collected));
  services.push(await startBare('node:http2, a constant'));
  const rows = [];
  for (const perSecond of given.rates.split(',').map(Number)) {
    const members = services.map((service) => ({ name: service.name, slice: () => slice(service, perSecond) }));
    for (const service of services) await slice(service, perSecond, WARM_MS);
    const seen = await interleave(members, Number(given.rounds));
    for (const [name, rounds] of seen) rows.push(rowOf(perSecond, name, rounds));
  }
  print(rows);
} finally {
  for (const service of services) await service.end();
  await load.end();
  await redis.stop();
}

/** Calls one of them at a rate, while the others rest. */
async function slice(service, perSecond, ms = Number(given['slice-ms'])) {
  const [before, redisBefore] = [service.usage(), await readMeter(redis.admins)];
  const asked = { port: service.port, domain: service.domain, perSecond, ms, keys: KEYS, descriptors: 1 };
  const { requests, denied, failed, wallMs, p50Ms, p99Ms } = await load.ask('slice', asked);
  const [after, redisAfter] = [service.usage(), await readMeter(redis.admins)];
  if (denied > 0) throw new Error(`${service.name} has denied ${denied} of ${requests} calls below the limit`);
  return {
    answered: ((requests - failed) / wallMs) * 1000,
    failedShare: (failed / requests) * 100,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    redisUs: (redisAfter.cpuUs - redisBefore.cpuUs) / requests,
    rssMiB: after.rssMiB,
    ...{ p50Ms, p99Ms },
  };
}

function rowOf(perSecond, name, rounds) {
  const of = (figure) => rounds.map((round) => round[figure]);
  const digits = (value) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0));
  const shown = (values) =>
    `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;
  return [
    ...[String(perSecond), name, digits(median(of('answered'))), shown(of('failedShare'))],
    shown(of('cpuUs').map((us) => 1_000_000 / us)),
    ...['cpuUs', 'p50Ms', 'p99Ms', 'redisUs', 'rssMiB'].map((figure) => shown(of(figure))),
  ];
}

function print(rows) {
  const [cpu] = cpus();
  console.log(
    `envoyproxy/ratelimit ${ratelimit.version}; Node ${process.version}; ${cpus().length} cores, ${cpu.model.trim()}, ${isPinned ? 'processes bound to cores' : 'processes NOT bound to cores'}; ` +
      `${given.rounds} rounds of ${Number(given['slice-ms']) / 1000} s in turn: the median, least and most.\n`,
  );
  console.log(
    table([
      [
        ...['calls a second', 'service', 'answered', '% failed', 'decisions per CPU second', 'µs of CPU'],
        ...['p50 ms', 'p99 ms', "µs of Redis's CPU", 'resident MiB'],
      ],
      ...rows,
    ]),
  );
}
