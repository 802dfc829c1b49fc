// Measures what a decision costs, beside the peers and the floor, in one run. From the root, after `npm run build`:
//
//   npm run bench                            all questions; half an hour on a machine that does nothing else
//   npm run bench -- memory redis            some of memory, redis, http, service
//   npm run bench -- --quick                 shorter, for a look
//   npm run bench -- http --framework koa --scene denied
//   npm run bench -- --write                 writes the results, and docs/benchmarks.md from them
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { measureHttp } from './http.mjs';
import { isPinned } from './in-turn.mjs';
import { measureMemory } from './memory.mjs';
import { tableOf, writePage, writeResults } from './page.mjs';
import { measureRedis } from './redis.mjs';
import { measureService } from './service.mjs';

const questions = { memory: measureMemory, redis: measureRedis, http: measureHttp, service: measureService };
const plans = {
  full: { generations: 2, rounds: 3, sliceMs: 1000, heapKeys: 1_000_000 },
  quick: { generations: 1, rounds: 2, sliceMs: 300, heapKeys: 100_000 },
  // For the test, which looks at denials and not at figures.
  trial: { generations: 1, rounds: 1, sliceMs: 30, heapKeys: 1000 },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    trial: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    framework: { type: 'string' },
    scene: { type: 'string' },
  },
});
const chosen = positionals.length > 0 ? positionals : Object.keys(questions);
const unknown = chosen.find((name) => !(name in questions));
if (unknown !== undefined) {
  console.error(`there is no question ${JSON.stringify(unknown)}: write some of ${Object.keys(questions).join(', ')}`);
  process.exit(2);
}

const mode = values.trial ? 'trial' : values.quick ? 'quick' : 'full';
const plan = {
  ...plans[mode],
  frameworks: values.framework?.split(','),
  wants: (scene) => values.scene?.split(',').includes(scene) ?? true,
  rates: mode === 'trial' ? [200] : [4000, 10_000],
  builds: mode !== 'trial',
  log: (text) => console.error(text),
};
const machine = {
  node: process.versions.node,
  cpu: cpus()[0].model.trim(),
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  isPinned,
};
const results = {};
for (const name of chosen) {
  const rows = await questions[name](plan);
  results[name] = {
    date: new Date().toISOString().slice(0, 10),
    mode,
    rounds: plan.generations * plan.rounds,
    machine,
    rows,
  };
  if (values.write) writeResults(name, results[name]);
  console.log(values.trial ? JSON.stringify({ name, rows }) : `${tableOf(name, results[name])}\n`);
}
if (values.write) writePage();
