// Histories of processes on Node 20, 22 and 24 at once, which live while servers, clocks and processes fail, until a number
// of decisions is made on a server and on a cluster: `npm run real -- histories 1000000`. REDIS_SERVER names another server.
import { execFileSync, spawnSync } from 'node:child_process';

const [decisions = '1000000'] = process.argv.slice(2);
const nodes = ['20.19', '22', '24'].map((version) =>
  execFileSync('npx', ['--yes', '-p', `node@${version}`, '-c', 'node -p process.execPath'], {
    encoding: 'utf8',
  }).trim(),
);
const { status } = spawnSync(process.execPath, ['scripts/test/test.mjs', 'packages/core/test/histories'], {
  stdio: 'inherit',
  env: { ...process.env, SLUICE_HISTORY_NODES: nodes.join(':'), SLUICE_HISTORY_DECISIONS: decisions },
});
process.exit(status ?? 1);
