// Measures what happens to requests when Redis is hung, killed, unreachable, slow, flapping, half-closed, lost or
// paused. Two Express servers, each in a process of its own, share one limit on a real redis-server. A third process
// sends requests to both at a steady rate, in an open loop. Prints waits, errors, and the time until the fault was
// noticed and until limits were shared again. Exits with 1 when a target is missed. Run `npm run build` first.
//
// One in six requests goes to a route without a limiter: its wait is due to the machine. A target for waits is missed
// when limited requests waited longer than the target, longer than the unlimited ones, and longer than before the
// fault, unless the load generator itself was delayed and sent them late.
//
// The store gets a URL or, with --client, an ioredis client: `told` is configured as docs/guides/when-redis-fails.md
// recommends, `plain` has ioredis's own defaults.
//
//   node scripts/faults/outage.mjs [--only hung,killed] [--fault-ms 6000] [--rate 200] [--client told]
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Child } from './children.mjs';
import { mostWithin, quantile, table } from './figures.mjs';
import { ms, observeFault, sharedSince } from './observe.mjs';
import { situations, startPlace } from './situations.mjs';

const LIMIT = 100;
const WINDOW_MS = 1000;
const TIMEOUT_MS = 100;
const TARGETS = { longestMs: TIMEOUT_MS + 50, openP99Ms: 5, sharedMs: 2000 };

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(situations).join(',') },
    'fault-ms': { type: 'string', default: '6000' },
    rate: { type: 'string', default: '200' },
    client: { type: 'string' },
  },
});
const faultMs = Number(given['fault-ms']);
const rate = Number(given.rate);

const results = [];
for (const name of given.only.split(',')) {
  const result = { name, ...(await observe(situations[name])) };
  results.push({ ...result, ...verdictOn(result) });
  console.error(`${name}: ${said(results.at(-1))}`);
}
print(results);
process.exitCode = results.every(({ missed }) => missed.length === 0) ? 0 : 1;

async function observe({ by, run }) {
  const place = await startPlace();
  const changes = [[], []];
  const apps = changes.map(
    (list) =>
      new Child(
        new URL('./app.mjs', import.meta.url),
        { url: place.url(by), client: given.client, limit: LIMIT, windowMs: WINDOW_MS, timeoutMs: TIMEOUT_MS },
        { onTold: (change) => list.push(change) },
      ),
  );
  const ports = await Promise.all(apps.map((app) => app.ask({ what: 'port' })));
  const load = new Child(new URL('./load.mjs', import.meta.url), { ports, rate, unlimitedRate: rate / 5 });

  const { rows, beginAt, faultAt, healedAt } = await observeFault(load, () => run(place, faultMs));
  const reports = await Promise.all(apps.map((app) => app.ask({ what: 'report' })));

  await Promise.all([...apps, load].map((child) => child.end()));
  await place.end();
  return figuresOf({ rows, reports, changes, beginAt, faultAt, healedAt });
}

function figuresOf({ rows, reports, changes, beginAt, faultAt, healedAt }) {
  const counted = rows.filter(({ dueAt }) => dueAt >= beginAt).sort((a, b) => a.dueAt - b.dueAt);
  const limited = counted.filter(({ isLimited }) => isLimited);
  const unlimited = counted.filter(({ isLimited }) => !isLimited);
  const isAway = ({ dueAt }) => dueAt >= faultAt && dueAt < healedAt;
  const isOpenAt = ({ server, dueAt }) =>
    (changes[server].findLast(({ atMs }) => atMs <= dueAt)?.state ?? 'closed') !== 'closed';
  const isOpen = (row) => isAway(row) && isOpenAt(row);
  const sharedAt = Math.max(...reports.map((_, server) => sharedSince(limited, server, healedAt)));
  const opened = changes.map((list) => list.find(({ state, atMs }) => state === 'open' && atMs >= faultAt)?.atMs);
  return {
    requests: limited.length,
    errors: counted.filter(({ status }) => status !== 200 && status !== 429).length,
    all: waits(limited),
    before: waits(limited.filter(({ dueAt }) => dueAt < faultAt)),
    open: waits(limited.filter(isOpen)),
    openSinceSentP99: quantile(
      limited.filter(isOpen).map(({ waitMs, sentAt, dueAt }) => waitMs - (sentAt - dueAt)),
      0.99,
    ),
    after: waits(limited.filter(({ dueAt }) => dueAt >= sharedAt)),
    unlimited: { all: waits(unlimited), open: waits(unlimited.filter(isOpen)) },
    decision: {
      longestMs: Math.max(...reports.map(({ longestMs }) => longestMs)),
      openP99Ms: quantile(
        reports.flatMap(({ whileOpenMs }) => whileOpenMs),
        0.99,
      ),
    },
    openedMs: opened.every((atMs) => atMs !== undefined) ? Math.max(...opened) - faultAt : undefined,
    kinds: [...new Set(changes.flat().map(({ kind }) => kind))],
    sharedMs: sharedAt - healedAt,
    locals: limited.filter((row) => isAway(row) && row.source === 'local').length,
    stragglers: limited.filter(({ dueAt, source }) => dueAt >= sharedAt && source === 'local').length,
    allowed: {
      together: mostWithin(
        reports.flatMap(({ allowed }) => allowed.redis),
        WINDOW_MS,
      ),
      alone: Math.max(...reports.map(({ allowed }) => mostWithin(allowed.local, WINDOW_MS))),
    },
  };
}

function waits(rows) {
  const all = rows.map(({ waitMs }) => waitMs);
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), longest: quantile(all, 1) };
}

/** The targets that were missed, and those that were missed because of the machine. */
function verdictOn({ name, errors, all, before, open, openSinceSentP99, unlimited, sharedMs, allowed, locals }) {
  const missed = [];
  const excused = [];
  const expect = (holds, what, list = missed) => holds || list.push(what);
  expect(errors === 0, `${errors} errors`);
  expect(
    all.longest <= TARGETS.longestMs,
    `a request waited ${ms(all.longest)} ms`,
    all.longest - TIMEOUT_MS <= Math.max(unlimited.all.longest, before.longest) ? excused : missed,
  );
  expect(
    open.p99 === undefined || open.p99 < TARGETS.openP99Ms,
    `p99 was ${ms(open.p99)} ms with the breaker open`,
    openSinceSentP99 < TARGETS.openP99Ms || open.p99 <= Math.max(1.5 * unlimited.open.p99, before.p99)
      ? excused
      : missed,
  );
  expect(sharedMs < TARGETS.sharedMs, `limits were shared again after ${ms(sharedMs)} ms`);
  expect(allowed.together <= LIMIT, `Redis allowed ${allowed.together} within a window`);
  expect(allowed.alone <= LIMIT, `a process allowed ${allowed.alone} by itself within a window`);
  expect(name === 'none' || locals > 0, 'the fault was not felt');
  return { missed, excused };
}

function said({ missed, excused, unlimited, before, openSinceSentP99 }) {
  const machine =
    `the machine's doing: without a limiter the longest was ${ms(unlimited.all.longest)} and p99 meanwhile ${ms(unlimited.open.p99)}, ` +
    `before the fault ${ms(before.longest)} and ${ms(before.p99)}; since it was really sent, p99 was ${ms(openSinceSentP99)}`;
  if (missed.length === 0 && excused.length === 0) return 'all targets hold';
  return [...missed.map((what) => `MISSED: ${what}`), ...excused.map((what) => `${what} (${machine})`)].join('; ');
}

function print(all) {
  const [cpu] = cpus();
  const pair = ({ p50, p99 }) => (p50 === undefined ? '-' : `${ms(p50)} / ${ms(p99)}`);
  console.log(
    `${rate} requests a second to each of two processes; timeoutMs ${TIMEOUT_MS}; slidingWindow of ${LIMIT} a second; ` +
      `Redis is away for ${faultMs / 1000} s; Node ${process.version}; ${cpus().length} cores, ${cpu.model}. Milliseconds.\n`,
  );
  console.log(
    table([
      [
        'Redis is',
        'how',
        'requests',
        'errors',
        'longest wait',
        'p50 / p99 before',
        'breaker open after',
        'p50 / p99 then',
        'shared again after',
        'p50 / p99 then',
        'most in a window: shared, alone',
      ],
      ...all.map((of) => [
        of.name,
        situations[of.name].what,
        String(of.requests),
        String(of.errors),
        ms(of.all.longest),
        pair(of.before),
        ms(of.openedMs),
        pair(of.open),
        of.name === 'none' ? '-' : ms(of.sharedMs),
        pair(of.after),
        `${of.allowed.together}, ${of.allowed.alone}`,
      ]),
    ]),
  );
  console.log('\nThe machine, and what the limiter alone took:\n');
  console.log(
    table([
      [
        'Redis is',
        'longest wait unlimited',
        'breaker open: p99 unlimited',
        'p99 since sent',
        'longest decision',
        'p99 of decisions',
        'decided alone afterwards',
        'kinds',
      ],
      ...all.map((of) => [
        of.name,
        ms(of.unlimited.all.longest),
        ms(of.unlimited.open.p99),
        ms(of.openSinceSentP99),
        ms(of.decision.longestMs),
        ms(of.decision.openP99Ms),
        String(of.stragglers),
        of.kinds.join(', ') || '-',
      ]),
    ]),
  );
  console.log(
    `\nTargets: no errors; no wait above ${TARGETS.longestMs}; p99 below ${TARGETS.openP99Ms} with the breaker open; ` +
      `shared again within ${TARGETS.sharedMs}; at most ${LIMIT} in a window.\n`,
  );
  for (const result of all) console.log(`${result.name}: ${said(result)}`);
}
