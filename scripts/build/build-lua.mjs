// Writes each hand-written Lua script of the packages as a constant beside it, with the SHA-1 by which Redis knows it:
//
//   node scripts/build/build-lua.mjs            writes what has changed
//   node scripts/build/build-lua.mjs --check    fails if something has
//
// What decides is printed from the program by print-program.mjs.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { PACKAGES, handwrittenScripts, withoutComments } from './lua-parts.mjs';

const SCRIPT = '{ readonly source: string; readonly sha1: string }';
const isCheck = process.argv[2] === '--check';

const scripts = handwrittenScripts();
for (const folder of new Set(scripts.map(dirname))) {
  const files = scripts.filter((file) => dirname(file) === folder);
  const from = `from ${files.map((file) => basename(file)).join(' and ')}. Do not edit: edit those.`;
  const generated = `// Written by scripts/build/build-lua.mjs ${from}\n${files.map(constantOf).join('\n')}`;
  const target = new URL(`${folder}/scripts.generated.ts`, PACKAGES);
  // An unchanged file keeps its date, so that the compiler has nothing to do.
  if (existsSync(target) && readFileSync(target, 'utf8') === generated) continue;
  if (isCheck) {
    console.error(`${folder}/scripts.generated.ts is stale: run \`node scripts/build/build-lua.mjs\``);
    process.exit(1);
  }
  writeFileSync(target, generated);
}

function constantOf(file) {
  const name = basename(file, '.lua').replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
  const lua = withoutBlankLines(withoutComments(readFileSync(new URL(file, PACKAGES), 'utf8')));
  return `/**
 * In this order:
 * - ${basename(file)}
 */
export const ${name}: ${SCRIPT} = {
  sha1: '${createHash('sha1').update(lua).digest('hex')}',
  source: \`${lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\`,
};
`;
}

function withoutBlankLines(lua) {
  return lua
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n');
}
