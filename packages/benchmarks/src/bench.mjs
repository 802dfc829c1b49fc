// What a decision costs: ourselves, the peers and the floor, in one run. From the root, after `npm run build`:
//
//   npm run bench                               all of it; some 40 minutes
//   npm run bench -- --quick                    all of it, shorter: for a look
//   npm run bench -- --only memory,redis        some of memory, redis, http, scale
//   npm run bench -- --rounds 9                 rounds of every measurement
//   npm run bench -- --node 24                  Express on another Node as well: a version, fetched by npx, or a path
//   npm run bench -- --out <folder>             where the results go, instead of packages/benchmarks/results
//
// Writes <group>.json, and prints the table of goals. `npm run bench:page` makes docs/benchmarks.md and its plots of them.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureHttp } from './groups/http.mjs';
import { measureMemory } from './groups/memory.mjs';
import { measureRedis } from './groups/redis.mjs';
import { measureScale } from './groups/scale.mjs';
import { describeMachine } from './machine.mjs';
import { goalLines } from './page/goals.mjs';
import { readResults, writeResults } from './page/results.mjs';
import { planOf } from './plan.mjs';
import { shareProcesses } from './processes/worker.mjs';

const groups = { memory: measureMemory, redis: measureRedis, http: measureHttp, scale: measureScale };

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    trial: { type: 'boolean', default: false },
    only: { type: 'string', default: Object.keys(groups).join(',') },
    rounds: { type: 'string' },
    node: { type: 'string' },
    out: { type: 'string' },
  },
});
const chosen = given.only.split(',');
const unknown = chosen.find((name) => groups[name] === undefined);
if (unknown !== undefined) {
  console.error(`--only knows ${Object.keys(groups).join(', ')}, not ${unknown}`);
  process.exit(2);
}
if (given.trial) shareProcesses();
const plan = planOf(given);
const out = given.out === undefined ? fileURLToPath(new URL('../results/', import.meta.url)) : resolve(given.out);
mkdirSync(out, { recursive: true });

const machine = await describeMachine();
for (const name of chosen) {
  const startedMs = performance.now();
  const rows = await groups[name](plan);
  const date = new Date().toISOString().slice(0, 10);
  writeResults(out, { group: name, date, mode: plan.mode, rounds: plan.rounds, machine, rows });
  console.error(`${name}: ${rows.length} rows in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}
for (const line of goalLines(readResults(out))) console.log(line);
process.exit();
