// Runs the whole suite on each supported Node: `npm run matrix -- nodes`, or `npm run matrix -- nodes 24` for one of them.
// The versions come from the npm registry.
import { spawnSync } from 'node:child_process';

const versions = process.argv.length > 2 ? process.argv.slice(2) : ['20.19', '22', '24'];
const failed = versions.filter((version) => {
  console.log(`\n=== Node ${version}`);
  return (
    spawnSync('npx', ['--yes', '-p', `node@${version}`, '-c', 'node --version && npm test'], { stdio: 'inherit' })
      .status !== 0
  );
});
console.log(
  failed.length === 0
    ? `\nThe suite passed on Node ${versions.join(', ')}.`
    : `\nThe suite FAILED on Node ${failed.join(', ')}.`,
);
process.exit(failed.length === 0 ? 0 : 1);
