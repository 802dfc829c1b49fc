// Writes the results into docs/benchmarks.md, docs/guides/capacity-planning.md and the guides of the peers, from
// packages/benchmarks/results/*.json.
//
//   node packages/benchmarks/src/page.mjs             writes
//   node packages/benchmarks/src/page.mjs --check     fails when a document does not match the results
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { capacityBlocks } from './page/capacity.mjs';
import { filled } from './page/fill.mjs';
import { PEERS, besidePeers } from './page/peers.mjs';
import { losses } from './page/questions.mjs';
import { readResults } from './page/results.mjs';
import { tablesOf } from './page/tables.mjs';
import { whereMeasured } from './page/where.mjs';

const results = readResults(fileURLToPath(new URL('../results/', import.meta.url)));
const blocks = {
  losses: losses(results),
  ...tablesOf(results),
  where: whereMeasured(results),
  ...capacityBlocks(results),
  ...besidePeers(results),
};
const guides = Object.keys(PEERS).map((peer) => `guides/coming-from-${peer}.md`);
for (const page of ['benchmarks.md', 'guides/capacity-planning.md', ...guides]) {
  const path = fileURLToPath(new URL(`../../../docs/${page}`, import.meta.url));
  const text = readFileSync(path, 'utf8');
  const written = filled(text, blocks, page);
  if (written === text) continue;
  if (process.argv.includes('--check')) {
    console.error(
      `docs/${page} does not match packages/benchmarks/results: run \`node packages/benchmarks/src/page.mjs\``,
    );
    process.exitCode = 1;
  } else {
    writeFileSync(path, written);
  }
}
