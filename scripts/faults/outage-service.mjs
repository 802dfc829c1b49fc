// Measures what calls of the rate limit service wait while Redis is hung, killed or fails over. Two services, each in a
// process of its own with the defaults of `sluice serve`, share limits on a real redis-server. A third process calls
// both at a steady rate, in an open loop, with a grpc-timeout that the calls must meet. Prints waits, errors, and the
// time until limits were shared again. Exits with 1 when a target is missed. Run `npm run build` first.
//
// Waits are counted from the instant at which a call was due. Those since it was really sent leave out what the load
// generator was late. A target for waits that calls before the fault have missed as well is the machine's doing.
//
//   node scripts/faults/outage-service.mjs [--only 'hung,failed over'] [--fault-ms 6000] [--rate 200] [--timeout 20m]
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Child } from './children.mjs';
import { failovers } from './failovers.mjs';
import { quantile, table } from './figures.mjs';
import { AFTER_MS, ms, observeFault, sharedSince } from './observe.mjs';
import { situations, startPlace } from './situations.mjs';

const LIMITS =
  'domain: outage\ndescriptors: [{ key: user, sluice: { slidingWindow: { limit: 1000000, window: 1d } } }]\n';
const KEYS = 100;
/** From the instant at which Redis can answer again. */
const TARGETS = { p999Ms: 20, sharedMs: 1000 };
const SITUATIONS = {
  ...Object.fromEntries(['none', 'hung', 'killed', 'unreachable'].map((name) => [name, situations[name]])),
  ...failovers,
};

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(SITUATIONS).join() },
    'fault-ms': { type: 'string', default: '6000' },
    rate: { type: 'string', default: '200' },
    timeout: { type: 'string', default: '20m' },
  },
});
const [faultMs, rate] = [Number(given['fault-ms']), Number(given.rate)];

const results = [];
for (const name of given.only.split(',')) results.push({ name, ...(await observe(SITUATIONS[name])) });
print(results);
const isLate = (wait) => wait > TARGETS.p999Ms;
let missed = 0;
for (const { name, errors, before, fault, sharedMs } of results) {
  const expect = (holds, what, isMachine = false) => {
    if (holds) return;
    console.log(`${isMachine ? "the machine's doing" : 'MISSED'}: ${name}: ${what}`);
    if (!isMachine) missed++;
  };
  // Calls that the machine keeps from being read until their deadline are dropped.
  expect(errors === 0, `${errors} calls failed`, isLate(before.sinceSent));
  expect(!isLate(fault.sinceSent), `p99.9 was ${ms(fault.sinceSent)} ms`, isLate(before.sinceSent));
  expect(sharedMs <= TARGETS.sharedMs, `limits were shared again after ${ms(sharedMs)} ms`);
}
process.exitCode = missed > 0 ? 1 : 0;

async function observe({ by, run, start = startPlace, inARow }) {
  const place = await start();
  const services = [1, 2].map(
    () => new Child(new URL('./service.mjs', import.meta.url), { url: place.url(by), limits: LIMITS }),
  );
  const ports = await Promise.all(services.map((service) => service.ask({ what: 'port' })));
  const load = new Child(new URL('./grpc-load.mjs', import.meta.url), {
    ...{ ports, rate, keys: KEYS, timeout: given.timeout },
  });

  const { rows, beginAt, faultAt, healedAt } = await observeFault(load, () => run(place, faultMs));
  await Promise.all([...services, load].map((child) => child.end()));
  await place.end();

  const counted = rows.filter(({ dueAt }) => dueAt >= beginAt && dueAt < healedAt + AFTER_MS - 1000);
  const within = (fromAt, toAt) => waits(counted.filter(({ dueAt }) => dueAt >= fromAt && dueAt < toAt));
  return {
    calls: counted.length,
    errors: counted.filter(({ status }) => status !== '0').length,
    before: within(beginAt, faultAt),
    fault: within(faultAt, healedAt),
    after: within(healedAt, Infinity),
    locals: counted.filter(({ source }) => source === 'local').length,
    sharedMs: Math.max(...ports.map((_, server) => sharedSince(rows, server, healedAt, inARow))) - healedAt,
  };
}

function waits(rows) {
  const all = rows.map(({ waitMs }) => waitMs);
  const sinceSent = rows.map(({ waitMs, dueAt, sentAt }) => waitMs - (sentAt - dueAt));
  return {
    p50: quantile(all, 0.5),
    p99: quantile(all, 0.99),
    p999: quantile(all, 0.999),
    sinceSent: quantile(sinceSent, 0.999),
    longest: quantile(all, 1),
  };
}

function print(all) {
  const [cpu] = cpus();
  const figures = ({ p50, p99, p999, sinceSent }) => `${[p50, p99, p999].map(ms).join(' / ')} (${ms(sinceSent)})`;
  console.log(
    `${rate} calls a second to each of two services, with a grpc-timeout of ${given.timeout}; Redis is away for ${faultMs / 1000} s, in a cluster until it has elected another primary; ` +
      `Node ${process.version}; ${cpus().length} cores, ${cpu.model}. Milliseconds: p50 / p99 / p99.9 (p99.9 since it was really sent).\n`,
  );
  console.log(
    table([
      [
        'Redis is',
        'calls',
        'failed',
        'before',
        'meanwhile',
        'afterwards',
        'answered from memory',
        'shared again after',
      ],
      ...all.map(({ name, calls, errors, before, fault, after, locals, sharedMs }) => [
        ...[name, String(calls), String(errors), figures(before), figures(fault), figures(after)],
        ...[String(locals), `${ms(sharedMs)}`],
      ]),
    ]),
  );
}
