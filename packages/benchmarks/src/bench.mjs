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
//   npm run bench -- --against <folder>         beside what another checkout has built, without the peers
//   npm run bench -- --moved <folder>           the same of HTTP in two minutes, and prints only what has moved
//   npm run bench -- --out <folder>             where the results go, instead of packages/benchmarks/results
//
// Writes <group>.json (against another build only where --out says so), and prints the table of goals. `npm run
// plots` writes docs/benchmarks.md and its plots from them.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { httpScenes, measureHttp } from './groups/http.mjs';
import { measureMemory, memoryScenes } from './groups/memory.mjs';
import { measureRedis, redisScenes } from './groups/redis.mjs';
import { measureScale } from './groups/scale.mjs';
import { measureService, serviceScenes } from './groups/service.mjs';
import { describeMachine } from './machine.mjs';
import { againstLines, movedLines } from './page/against.mjs';
import { goalLines } from './page/goals.mjs';
import { readResults, writeResults } from './page/results.mjs';
import { httpTables } from './page/tables.mjs';
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
    against: { type: 'string' },
    moved: { type: 'string' },
    rounds: { type: 'string' },
    node: { type: 'string' },
    out: { type: 'string' },
  },
});
const all = given.moved === undefined ? Object.keys(groups) : ['http'];
given.against ??= given.moved;
// The growth of the cost is not compared, and the service has a floor of its own.
const comparable = given.against === undefined ? all : all.filter((name) => name !== 'scale' && name !== 'service');
const chosen = given.only?.split(',') ?? comparable;
const unknown = chosen.find((name) => !comparable.includes(name));
if (unknown !== undefined) fail(`--only takes ${comparable.join(', ')}, not ${unknown}`);
if (given.trial) shareProcesses();
const plan = planOf(given);
const known = chosen.flatMap((name) => scenes[name]);
if (given.scene !== undefined && !known.some(plan.wants))
  fail(`--scene takes ${[...new Set(known)].join(', ')}, or the part before a slash`);
const ofHttp = given.proxy || given.denied !== undefined;
if (ofHttp && !(chosen.length === 1 && chosen[0] === 'http')) fail('--proxy and --denied go with --only http');
// Figures without the peers, of some scenes alone or of other requests must not replace those of the documents.
const isPart = given.against !== undefined || given.scene !== undefined || ofHttp || plan.otherNodes.length > 1;
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
const measured = out === undefined ? results : readResults(out);
if (given.moved !== undefined) {
  for (const line of movedLines(measured)) console.log(line);
  process.exit();
}
for (const line of goalLines(measured)) console.log(line);
if (chosen.includes('http') && isPart) for (const line of httpTables(measured)) console.log(line);
if (given.against !== undefined) for (const line of againstLines(measured)) console.log(line);
process.exit();

function fail(why) {
  console.error(why);
  process.exit(2);
}
