// Writes the results into the documents: docs/benchmarks.md (for users), docs/contribute/benchmarks.md (all figures and
// the goals), docs/guides/capacity-planning.md, the guides of the peers and docs/plots/bench-*.svg, all from packages/benchmarks/results/*.json.
//
//   npm run plots             writes
//   npm run check -- docs     fails when a document or plot does not match the results
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { capacityBlocks } from './page/capacity.mjs';
import { filled } from './page/fill.mjs';
import { goalLines } from './page/goals.mjs';
import { PEERS, besidePeers } from './page/peers.mjs';
import { plotsOf } from './page/plots.mjs';
import { httpQuestion, losses, memoryQuestion, redisQuestion } from './page/questions.mjs';
import { readResults } from './page/results.mjs';
import { algorithmsTable, httpTables, keyFormsTable, memoryTable, redisTables, scaleTables } from './page/tables.mjs';
import { whereMeasured } from './page/where.mjs';

const results = readResults(fileURLToPath(new URL('../results/', import.meta.url)));
const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const plots = `${docs}plots/`;

const blocks = {
  losses: losses(results),
  'memory-question': results.memory ? memoryQuestion(results) : [],
  'redis-question': results.redis ? redisQuestion(results) : [],
  'http-question': httpQuestion(results),
  where: whereMeasured(results),
  goals: goalLines(results),
  memory: results.memory ? [memoryTable(results)] : [],
  algorithms: algorithmsTable(results),
  'key-forms': keyFormsTable(results),
  redis: redisTables(results),
  http: httpTables(results),
  scale: results.scale ? scaleTables(results) : [],
  ...capacityBlocks(results),
  ...besidePeers(results),
};
const files = new Map(Object.entries(plotsOf(results)).map(([name, drawn]) => [plots + name, drawn]));
const guides = Object.keys(PEERS).map((peer) => `guides/coming-from-${peer}.md`);
for (const page of ['benchmarks.md', 'contribute/benchmarks.md', 'guides/capacity-planning.md', ...guides]) {
  files.set(docs + page, filled(readFileSync(docs + page, 'utf8'), blocks, page));
}
const left = readdirSync(plots)
  .filter((name) => name.startsWith('bench-') && !files.has(plots + name))
  .map((name) => plots + name);

if (process.argv.includes('--check')) {
  const stale = [...files].filter(([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text);
  for (const path of [...stale.map(([name]) => name), ...left]) {
    console.error(`${basename(path)} does not match packages/benchmarks/results: run \`npm run plots\``);
  }
  process.exitCode = stale.length + left.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of files) writeFileSync(path, text);
  for (const path of left) rmSync(path);
}
