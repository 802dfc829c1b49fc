// Writes what follows from something else: `npm run fix`. Needs a build for the sizes.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const COMMANDS = {
  'the Lua scripts': 'node scripts/build/print-program.mjs',
  'what ESLint can mend': 'eslint . --fix --cache --cache-location node_modules/.cache/eslint/',
  'the page of options': 'node scripts/build/options-page.mjs',
  'the page of benchmarks': 'node packages/benchmarks/src/page.mjs',
  'the sizes in etc/sizes.json': 'node scripts/check/sizes.mjs --write',
  'the public names in their snapshot': 'node scripts/test/test.mjs testkit/test/exports -u',
  'the format': 'prettier --write . --log-level warn --cache',
};

const cwd = fileURLToPath(new URL('..', import.meta.url));
const failed = Object.entries(COMMANDS).filter(([what, command]) => {
  console.log(`=== ${what}`);
  return spawnSync(command, { cwd, shell: true, stdio: 'inherit' }).status !== 0;
});
process.exit(failed.length === 0 ? 0 : 1);
