// Builds every package twice, as ES modules and as CommonJS, with plain tsc.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const { status } = spawnSync(
  process.execPath,
  ['node_modules/@typescript/native/bin/tsc', '-b', 'tsconfig/build.json'],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
if (status !== 0) process.exit(status ?? 1);

for (const name of readdirSync(`${root}/packages`)) {
  const folder = `${root}/packages/${name}/dist/cjs`;
  // The packages have "type": "module"; this file overrides it for the folder below.
  if (existsSync(folder)) writeFileSync(`${folder}/package.json`, '{"type":"commonjs"}\n');
}
