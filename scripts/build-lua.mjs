// Flattens the parts of each script that decides, and the kernel.lua of the algorithms it knows, into one, and writes
// them, with their SHA-1, as a TypeScript module; and likewise the scripts that stand by themselves, a module for each folder of them.
// With --check it only says whether the module is as it would be written.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { BEFORE_ALL, SCRIPTS, beforeKernel } from './lua-parts.mjs';

const core = new URL('../packages/core/src/', import.meta.url);
/** Per folder the scripts in it that stand by themselves, by the names they have in TypeScript. */
const OTHERS = {
  managed: { registryLoad: 'registry-load.lua', registryPut: 'registry-put.lua' },
  'stores/split': { heartbeat: 'heartbeat.lua' },
};
const read = (path) => readFileSync(new URL(path, core), 'utf8');

/** Lua without comments, blank lines and indentation. No string of ours holds two dashes. */
const bare = (lua) =>
  lua
    .replace(/--\[\[.*?\]\]/gs, '')
    .replace(/--.*$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');

const folders = readdirSync(new URL('algorithms/', core), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

const kernels = folders.map((folder) => {
  const kernel = read(`algorithms/${folder}/kernel.lua`);
  return { kernel, kind: /kind = "(\w)"/.exec(kernel)[1], module: folder.replaceAll('-', '_') };
});
// Only the kernels that a call needs are made: making them all would cost more than deciding.
const whenNeeded = ({ kernel, kind, module }) =>
  `if kinds == "${kind}" or #kinds > 1 and string.find(kinds, "${kind}", 1, true) then
${[...beforeKernel(kernel).map(read), kernel].map(bare).join('\n')}
algorithms.${kind} = ${module}
end`;
const scripts = Object.entries(SCRIPTS).map(([name, { parts, takes, needs }]) => [
  name,
  [
    'local kinds, algorithms = ARGV[1], {}',
    bare(read(BEFORE_ALL)),
    ...kernels
      .filter(({ kernel }) => takes(kernel))
      .map(({ kernel, ...named }) => whenNeeded({ ...named, kernel: needs(kernel) })),
    ...parts.map((part) => bare(read(part))),
  ].join('\n'),
]);

const SCRIPT = '{ readonly source: string; readonly sha1: string }';
const constant = (name, lua) => `export const ${name}: ${SCRIPT} = {
  sha1: '${createHash('sha1').update(lua).digest('hex')}',
  source: \`${lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\`,
};
`;

const modules = {
  'stores/redis/scripts.generated.ts': `// Written by scripts/build-lua.mjs from the kernel.lua of every algorithm and frame/*.lua. Do not edit: edit those.
${scripts.map(([name, source]) => constant(name, source)).join('\n')}`,
};
for (const [folder, scripts] of Object.entries(OTHERS)) {
  const files = Object.entries(scripts);
  modules[`${folder}/scripts.generated.ts`] =
    `// Written by scripts/build-lua.mjs from ${files.map(([, file]) => file).join(' and ')}. Do not edit: edit those.\n` +
    files.map(([name, file]) => constant(name, bare(read(`${folder}/${file}`)))).join('\n');
}

for (const [path, generated] of Object.entries(modules)) {
  const target = new URL(path, core);
  let current;
  try {
    current = readFileSync(target, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (current === generated) continue; // an unchanged file keeps its date, so that the compiler has nothing to do
  if (process.argv.includes('--check')) {
    console.error(`${path} is stale: run \`node scripts/build-lua.mjs\``);
    process.exit(1);
  }
  writeFileSync(target, generated);
}
