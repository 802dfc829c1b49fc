// Flattens the parts of each script that decides, and the kernel.lua of the algorithms it knows, into one, and writes
// them, with their SHA-1, as a TypeScript module; and likewise the scripts that stand by themselves, a module for each
// folder of them. With --check it only says whether the modules are as they would be written. Another folder of
// packages can be named.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { BEFORE_ALL, SCRIPTS, beforeKernel, declarationOf, standaloneScripts, withoutComments } from './lua-parts.mjs';

const { values, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true });
const packages =
  positionals[0] === undefined ? new URL('../../packages/', import.meta.url) : pathToFileURL(`${positionals[0]}/`);
const core = new URL('old-core/src/', packages);
const AS_RUN = 'sliding-window';
/** The first argument of each script begins with the letters of what it needs. */
const FIRST_LINE = 'local kinds, algorithms = string.match(ARGV[1], "^%a+"), {}';
const read = (path) => readFileSync(new URL(path, core), 'utf8');

/** Lua without comments and blank lines. Indentation makes 7 % of a script, which is sent once to each server. */
const bare = (lua) =>
  withoutComments(lua)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n');

const folders = readdirSync(new URL('algorithms/', core), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

const kernels = folders.map((folder) => {
  const kernel = read(`algorithms/${folder}/kernel.lua`);
  return { folder, kernel, kind: declarationOf(kernel).kind, module: folder.replaceAll('-', '_') };
});
// Only the kernels that a call needs are made: making them all would cost more than deciding.
const whenNeeded = ({ kernel, kind, module }) =>
  `if kinds == "${kind}" or #kinds > 1 and string.find(kinds, "${kind}", 1, true) then
${[...beforeKernel(kernel).map(read), kernel].map(bare).join('\n')}
algorithms.${kind} = ${module}
end`;
const scripts = Object.entries(SCRIPTS).map(([name, { parts, takes, needs }]) => {
  const taken = kernels.filter(({ kernel }) => takes(kernel));
  const source = [
    FIRST_LINE,
    bare(read(BEFORE_ALL)),
    ...taken.map(({ kernel, ...named }) => whenNeeded({ ...named, kernel: needs(kernel) })),
    ...parts.map((part) => bare(read(part))),
  ].join('\n');
  const files = [BEFORE_ALL, ...taken.map(({ folder }) => `algorithms/${folder}/kernel.lua`), ...parts];
  return [name, source, files];
});

const SCRIPT = '{ readonly source: string; readonly sha1: string }';
const constant = (name, lua, files) => `/**
 * In this order:
${files.map((file) => ` * - ${file}`).join('\n')}
 */
export const ${name}: ${SCRIPT} = {
  sha1: '${createHash('sha1').update(lua).digest('hex')}',
  source: \`${lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\`,
};
`;

/** The usual call as Redis runs it, to be read: of the batch script what decides one request of a sliding window, comments and all. */
const { kernel, kind, module } = kernels.find(({ folder }) => folder === AS_RUN);
const indented = (lua) => lua.trim().replace(/^(?=.)/gm, '  ');
const asRun = [
  `-- Written by scripts/build/build-lua.mjs: one request for one key of ${AS_RUN}, as Redis runs it. Do not edit: edit lua/single.lua`,
  `-- and ${AS_RUN}/kernel.lua. The script that is sent has the other kernels too, lua/batch.lua behind this, and no comments.`,
  FIRST_LINE,
  read(BEFORE_ALL).trim(),
  `if kinds == "${kind}" or #kinds > 1 and string.find(kinds, "${kind}", 1, true) then`,
  ...[...beforeKernel(SCRIPTS.batch.needs(kernel)).map(read), SCRIPTS.batch.needs(kernel)].map(indented),
  `  algorithms.${kind} = ${module}`,
  'end',
  ...SCRIPTS.batch.parts
    .slice(0, SCRIPTS.batch.parts.findIndex((part) => part.endsWith('/single.lua')) + 1)
    .map((part) => read(part).trim()),
]
  .join('\n')
  .replace(/(?:^ *-- .*\n)+(?=\n| *algorithms)/gm, '') // of functions that are left out
  .replace(/\n{3,}/g, '\n\n')
  .concat('\n');

const modules = {
  'old-core/src/stores/redis/lua/as-run/single.lua': asRun,
  'old-core/src/stores/redis/scripts.generated.ts': `// Written by scripts/build/build-lua.mjs from the kernel.lua of every algorithm and lua/*.lua. Do not edit: edit those.
${scripts.map((script) => constant(...script)).join('\n')}`,
};
const standalone = standaloneScripts(packages);
for (const folder of new Set(standalone.map(dirname))) {
  const files = standalone.filter((file) => dirname(file) === folder);
  const nameOf = (file) => basename(file, '.lua').replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
  modules[`${folder}/scripts.generated.ts`] =
    `// Written by scripts/build/build-lua.mjs from ${files.map((file) => basename(file)).join(' and ')}. Do not edit: edit those.\n` +
    files
      .map((file) => constant(nameOf(file), bare(readFileSync(new URL(file, packages), 'utf8')), [basename(file)]))
      .join('\n');
}

for (const [path, generated] of Object.entries(modules)) {
  const target = new URL(path, packages);
  let current;
  try {
    current = readFileSync(target, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (current === generated) continue; // an unchanged file keeps its date, so that the compiler has nothing to do
  if (values.check) {
    console.error(`${path} is stale: run \`node scripts/build/build-lua.mjs\``);
    process.exit(1);
  }
  writeFileSync(target, generated);
}
