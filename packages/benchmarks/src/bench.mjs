// Measures the cost of a decision: Sluice, the peers and the floor, in one run. From the root, after `npm run build`:
//
//   npm run bench                               all of it; some 40 minutes
//   npm run bench -- --quick                    all of it, shorter and less exact
//   npm run bench -- --only memory,redis        some of memory, redis, http, scale, service
//   npm run bench -- --rounds 9                 rounds of every measurement
//   npm run bench -- --node 22,24               Express on other Nodes as well, or the frameworks that --scene names:
//                                               versions, fetched by npx, or paths
//   npm run bench -- --scene hot-key            some of the scenes: a name that is not known prints all
//   npm run bench -- --proxy                    HTTP behind a trusted proxy: clients are in X-Forwarded-For
//   npm run bench -- --denied 90                HTTP with so many percent of the requests denied
//   npm run bench -- --out <folder>             where the results go, instead of packages/benchmarks/results
//
// Writes <group>.json, and prints the tables of what was measured. page.mjs writes docs/benchmarks.md from them.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { httpScenes, measureHttp } from './groups/http.mjs';
import { measureMemory, memoryScenes } from './groups/memory.mjs';
import { measureRedis, redisScenes } from './groups/redis.mjs';
import { measureScale } from './groups/scale.mjs';
import { measureService, serviceScenes } from './groups/service.mjs';
import { describeMachine } from './machine.mjs';
import { writeResults } from './page/results.mjs';
import { tablesOf } from './page/tables.mjs';
import { planOf } from './plan.mjs';
import { shareProcesses } from './processes/worker.mjs';

const groups = {
  memory: measureMemory,
  redis: measureRedis,
  http: measureHttp,
  scale: measureScale,
  service: measureService,
};
const scenes = { memory: memoryScenes, redis: redisScenes, http: httpScenes, scale: [], service: serviceScenes };

const { values: given } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    trial: { type: 'boolean', default: false },
    only: { type: 'string' },
    scene: { type: 'string' },
    proxy: { type: 'boolean', default: false },
    denied: { type: 'string' },
    rounds: { type: 'string' },
    node: { type: 'string' },
    out: { type: 'string' },
  },
});
const chosen = given.only?.split(',') ?? Object.keys(groups);
const unknown = chosen.find((name) => !(name in groups));
if (unknown !== undefined) fail(`--only takes ${Object.keys(groups).join(', ')}, not ${unknown}`);
if (given.trial) shareProcesses();
const plan = planOf(given);
const known = chosen.flatMap((name) => scenes[name]);
if (given.scene !== undefined && !known.some(plan.wants))
  fail(`--scene takes ${[...new Set(known)].join(', ')}, or the part before a slash`);
const ofHttp = given.proxy || given.denied !== undefined;
if (ofHttp && !(chosen.length === 1 && chosen[0] === 'http')) fail('--proxy and --denied go with --only http');
// Figures of some scenes alone or of other requests must not replace those of the documents.
const isPart = given.scene !== undefined || ofHttp || plan.otherNodes.length > 1;
const out = given.out === undefined && !isPart ? fileURLToPath(new URL('../results/', import.meta.url)) : given.out;
if (out !== undefined) mkdirSync(out, { recursive: true });

const machine = await describeMachine();
const results = {};
for (const name of chosen) {
  const startedMs = performance.now();
  const rows = await groups[name](plan);
  const date = new Date().toISOString().slice(0, 10);
  results[name] = { group: name, date, mode: plan.mode, rounds: plan.rounds, machine, rows };
  if (out !== undefined) writeResults(out, results[name]);
  console.error(`${name}: ${rows.length} rows in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}
for (const lines of Object.values(tablesOf(results))) for (const line of lines) console.log(line);
process.exit();

function fail(why) {
  console.error(why);
  process.exit(2);
}
