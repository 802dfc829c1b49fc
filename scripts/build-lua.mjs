// Flattens the frame and every algorithm's kernel.lua into one script, and writes it, with its SHA-1, as a TypeScript
// module.
// With --check it only says whether the module is as it would be written.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const core = new URL('../packages/core/src/', import.meta.url);
const target = new URL('stores/redis/scripts.generated.ts', core);
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
  const module = folder.replaceAll('-', '_');
  const kernel = read(`algorithms/${folder}/kernel.lua`);
  const [, kind] = /kind = "(\w)"/.exec(kernel);
  // Only the kernels that a call needs are made: making them all would cost more than deciding.
  return `if string.find(ARGV[1], "${kind}", 1, true) then\n${bare(kernel)}\nalgorithms.${kind} = ${module}\nend`;
});
const source = [
  'local algorithms = {}',
  bare(read('algorithms/instant-and-field.lua')),
  ...kernels,
  bare(read('stores/redis/frame.lua')),
].join('\n');

const generated = `// Written by scripts/build-lua.mjs from the kernel.lua of every algorithm and frame.lua. Do not edit: edit those.
export const frame: { readonly source: string; readonly sha1: string } = {
  sha1: '${createHash('sha1').update(source).digest('hex')}',
  source: \`${source.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\`,
};
`;

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== generated) {
    console.error('scripts.generated.ts is stale: run `node scripts/build-lua.mjs`');
    process.exit(1);
  }
} else {
  let current;
  try {
    current = readFileSync(target, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  // An unchanged file keeps its date, so that the compiler has nothing to do.
  if (current !== generated) writeFileSync(target, generated);
}
