// Runs the whole suite on each supported Node, or on those given: `npm run real -- nodes 24`. The npm registry has them.
import { spawnSync } from 'node:child_process';

const versions = process.argv.length > 2 ? process.argv.slice(2) : ['20.19', '22', '24'];
const failed = versions.filter((version) => {
  console.log(`\n=== Node ${version}`);
  const run = ['--yes', '-p', `node@${version}`, '-c', 'node --version && npm test'];
  return spawnSync('npx', run, { stdio: 'inherit' }).status !== 0;
});
console.log(failed.length === 0 ? '\nThe suite passed on all of them.' : `\nThe suite FAILED on ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
