// Attacks `sluice serve` in the ways that abuse HTTP/2, one after the other, while another process makes honest calls on
// a connection of its own. Prints what the honest calls waited and what memory the service took. Exits with 1 where an
// honest call fails, where they waited too long, or where memory is not given back. Run `npm run build` first.
//
// The service has a processor of its own where `taskset` is there. Its environment is that of this command:
//
//   node scripts/faults/abuses.mjs [--only 'plain flood,zero windows'] [--seconds 4] [--rate 100]
//   NODE_OPTIONS=--max-semi-space-size=4 LD_PRELOAD=libjemalloc.so.2 node scripts/faults/abuses.mjs
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ABUSES } from './abuses/kinds.mjs';
import { Target } from './abuses/target.mjs';
import { Child } from './children.mjs';
import { quantile, table } from './figures.mjs';

const MIB = 1024;
/** In MiB and milliseconds. */
const TARGETS = { duringMib: 200, afterMib: 130, p99Ms: 50 };
const AFTER_MS = 30_000;
const LIMITS = `
domain: outage
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 4000000000 } }]
limits: { login: { fixedWindow: { limit: 4000000000, window: 1d } } }
`;

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(ABUSES).join() },
    seconds: { type: 'string', default: '4' },
    rate: { type: 'string', default: '100' },
  },
});
const names = given.only.split(',');
const unknown = names.filter((name) => !Object.hasOwn(ABUSES, name));
if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; known: ${Object.keys(ABUSES).join(', ')}`);

const service = await startService();
const load = new Child(new URL('./grpc-load.mjs', import.meta.url), {
  ...{ ports: [service.grpc], rate: Number(given.rate), timeout: '10000m', keys: 100 },
});
const rows = [];
try {
  rows.push({ name: 'none', ...(await observe(() => sleep(Number(given.seconds) * 1000))) });
  for (const name of names) {
    console.error(name);
    rows.push({ name, ...(await observe(() => attack(ABUSES[name]))) });
  }
  report(rows, await memoryAfter());
} finally {
  await load.end();
  service.end();
}

async function attack(abuse) {
  const target = new Target(service, performance.now() + Number(given.seconds) * 1000);
  await Promise.race([abuse(target), sleep(Number(given.seconds) * 1000)]);
  await target.end();
}

async function observe(work) {
  let mostMib = 0;
  const timer = setInterval(() => (mostMib = Math.max(mostMib, service.memoryMib())), 50);
  await load.ask({ what: 'start' });
  await work();
  const { rows: calls } = await load.ask({ what: 'finish' });
  clearInterval(timer);
  const waits = calls.map(({ waitMs, dueAt, sentAt }) => waitMs - (sentAt - dueAt));
  return {
    calls: calls.length,
    failed: calls.filter(({ status }) => status !== '0').length,
    ...{ p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), longest: Math.max(...waits), mostMib },
  };
}

/** The memory once it is below its target, or after the time that it has for that. */
async function memoryAfter() {
  const beganAt = performance.now();
  while (service.memoryMib() > TARGETS.afterMib && performance.now() - beganAt < AFTER_MS) await sleep(250);
  return { mib: service.memoryMib(), afterMs: Math.round(performance.now() - beganAt) };
}

function report(found, after) {
  const shown = (value) => String(Math.round(value * 10) / 10);
  console.log(
    table([
      ['abuse', 'calls', 'failed', 'p50 ms', 'p99 ms', 'longest ms', 'MiB at most'],
      ...found.map(({ name, calls, failed, p50, p99, longest, mostMib }) => [
        ...[name, String(calls), String(failed), shown(p50), shown(p99), shown(longest), shown(mostMib)],
      ]),
    ]),
  );
  console.log(`memory: ${shown(after.mib)} MiB ${after.afterMs} ms after the last one`);
  const [quiet, ...attacked] = found;
  let missed = 0;
  const expect = (holds, what) => {
    if (holds) return;
    missed++;
    console.log(`MISSED: ${what}`);
  };
  for (const { name, failed, p99, mostMib } of attacked) {
    expect(failed === 0, `${name}: ${failed} honest calls failed`);
    const machine = quiet.p99 > TARGETS.p99Ms ? ` (without an attack ${shown(quiet.p99)}: the machine's doing)` : '';
    expect(p99 <= TARGETS.p99Ms, `${name}: p99 was ${shown(p99)} ms${machine}`);
    expect(mostMib <= TARGETS.duringMib, `${name}: ${shown(mostMib)} MiB`);
  }
  expect(after.mib <= TARGETS.afterMib, `${shown(after.mib)} MiB stay`);
  process.exitCode = missed > 0 ? 1 : 0;
}

async function startService() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-abuses-'));
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, LIMITS);
  const main = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url));
  const serve = [main, 'serve', '--config', config, '--grpc', '0', '--http', '0', '--admin', 'off', '--json'];
  const pinned = spawnSync('taskset', ['-c', '0', 'true']).status === 0 ? ['taskset', '-c', '0'] : [];
  const [command, ...args] = [...pinned, process.execPath, ...serve];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.once('exit', (code, signal) => {
    if (child.isEnding !== true) console.error(`the service ended by itself: ${code ?? signal}`);
    if (child.isEnding !== true) process.exit(2);
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const { grpc, http } = JSON.parse(value);
  const portOf = (address) => Number(address.split(':').at(-1));
  return {
    ...{ grpc: portOf(grpc), http: portOf(http) },
    memoryMib: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / MIB,
    end() {
      child.isEnding = true;
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}
