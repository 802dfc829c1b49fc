// Writes the scripts in packages/core/src/stores/redis/lua/generated: the program as Lua, and what only Redis has around it.
// One for each family, and one for all. Writes the Lua that is written by hand as constants beside it, too, with the SHA-1
// by which Redis knows each. With --check it compares.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { printLua } from './to-lua.mjs';

const packages = new URL('../../packages/', import.meta.url);
const core = new URL('core/src/', packages);
const path = (name) => new URL(name, core);
const FAMILIES = { window: 'f', interval: 'i', debt: 'tl', blocks: 's', counter: 'c', slots: 'gh' };
const FILES = ['numbers', 'decide', ...Object.keys(FAMILIES)].map((name) => path(`program/${name}.ts`).pathname);
const read = (name) => readFileSync(path(`stores/redis/lua/program/${name}.lua`), 'utf8');
const glue = read('perform');
/** What two scripts write alike. */
const addEvents = read('add-events');
/** Values of these are short, and read by one pattern. */
const SHORT = ['window', 'interval', 'debt', 'counter'];

/** The script of some families. That of one decides; edits, which may meet a state of any kind, are of the script with all. */
function script(families) {
  const names = Object.keys(families);
  const one = names.length === 1 ? names[0] : undefined;
  const tellsFigures = names.includes('slots');
  const members = ['reads', 'endsAt', 'freeAt', 'move', 'emptyAt', 'add'];
  if (one === undefined) members.push('give', 'used');
  if (tellsFigures) members.push(...(one === undefined ? ['left'] : ['used', 'left']));
  const deciding = ['decide', ...(one === undefined ? ['change'] : []), ...(tellsFigures ? ['figures'] : [])];
  const roots = [
    ...names.flatMap((family) => members.map((member) => `${family}.${member}`)),
    ...deciding.map((name) => `decide.${name}`),
  ];
  const kinds = new Set([
    one === undefined ? 'all' : 'one',
    ...(tellsFigures ? ['figures'] : []),
    ...(one === 'slots' ? [] : ['values']),
    one === undefined || SHORT.includes(one) ? 'short' : 'long',
  ]);
  const tables = one === undefined ? printFamilies(families, members) : printReads();
  const body = `${printLua(FILES, roots, one)}\n${tables}${one === undefined ? `${addEvents}\n` : ''}${printGlue(kinds, one)}`;
  const from = 'Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.';
  return `-- ${from}\n${printMath(body)}\n${body}`;
}

/** A global takes two look-ups, a local none. */
function printMath(body) {
  const used = ['ceil', 'floor', 'max', 'min'].filter((name) => body.includes(`math_${name}(`));
  return `local ${used.map((name) => `math_${name}`).join(', ')} = ${used.map((name) => `math.${name}`).join(', ')}\n`;
}

/** The lines of perform.lua that these scripts need. Where there is one family, its functions are named. */
function printGlue(kinds, one) {
  const lines = glue.split('\n').flatMap((line) => {
    const [, code, needs] = /^(.*?) -- only ([\w, ]+)$/.exec(line) ?? [undefined, line, undefined];
    return needs === undefined || needs.split(', ').every((kind) => kinds.has(kind)) ? [code] : [];
  });
  return one === undefined ? lines.join('\n') : lines.join('\n').replaceAll('part.f.', `${one}_`);
}

function printFamilies(families, members) {
  const table = Object.keys(families).flatMap((family) => {
    const record = members.map((member) => `  ${member} = ${family}_${member},\n`).join('');
    return [`local ${family} = {\n${record}}\n`];
  });
  const kinds = Object.entries(families).flatMap(([family, letters]) =>
    [...letters].map((kind) => `${kind} = ${family}`),
  );
  // A state that is long stays in Redis: its script answers figures.
  return `${table.join('')}local families = { ${kinds.join(', ')} }\nlocal tells_figures = string.find(ARGV[1], "[gh]") ~= nil\n\n`;
}

/** What tells the states of all kinds from values that none has written: in one function, because it is rarely called. */
function printReads() {
  const functions = printLua(
    FILES,
    Object.keys(FAMILIES).map((family) => `${family}.reads`),
  );
  const kinds = Object.entries(FAMILIES).flatMap(([family, letters]) =>
    [...letters].map((kind) => `${kind} = ${family}_reads`),
  );
  const body = `${functions}\nlocal reads = { ${kinds.join(', ')} }\nreturn reads[kind](s)`;
  return `local function is_state(kind, s)\n${body.replace(/^(?=.)/gm, '  ')}\nend\n\n`;
}

const scripts = Object.entries({ ...FAMILIES, all: '' }).map(([name, kinds]) => [
  name,
  script(name === 'all' ? FAMILIES : { [name]: kinds }),
]);
const generated = path('stores/redis/lua/generated/');
mkdirSync(generated, { recursive: true });
const wanted = new Map(scripts.map(([name, text]) => [new URL(`${name}.lua`, generated), text]));
wanted.set(new URL('scripts.generated.ts', generated), asModule(scripts));
/** Where Lua is written by hand. */
for (const folder of ['core/src/managed/', 'core/src/split/redis/', 'core/src/events/'])
  wanted.set(new URL(`${folder}scripts.generated.ts`, packages), asConstants(new URL(folder, packages)));

/** The scripts as the store sends them: without comments and indentation. Functions that several have stand there once. */
function asModule(scripts) {
  const parts = new Map();
  const constants = scripts.map(([name, text]) => {
    const source = text.replace(/^\s+|\s*(^| )--.*$/gm, '');
    const sha1 = createHash('sha1').update(source).digest('hex');
    const own = source.split(/\n(?=local (?:function|now) )/).map((part) => {
      if (!parts.has(part)) parts.set(part, parts.size);
      return parts.get(part);
    });
    return `  ${name}: join('${sha1}', [${own.join(', ')}]),\n`;
  });
  return `// Made by scripts/build/print-program.mjs.
export interface Script {
  readonly sha1: string;
  readonly source: string;
}

export type ScriptName = ${scripts.map(([name]) => `'${name}'`).join(' | ')};

const PARTS: readonly string[] = [
${[...parts.keys()].map((part) => `  ${JSON.stringify(part)},\n`).join('')}];

// @__NO_SIDE_EFFECTS__
function join(sha1: string, parts: readonly number[]): Script {
  return { sha1, source: parts.map((part) => PARTS[part]).join('\\n') };
}

export const SCRIPTS: Readonly<Record<ScriptName, Script>> = {
${constants.join('')}};
`;
}

function asConstants(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.lua'));
  const constants = files.map((file) => {
    const name = file.slice(0, -'.lua'.length).replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
    const written = readFileSync(new URL(file, folder), 'utf8');
    const lua = `${written.includes('add_events(') ? addEvents : ''}${written}`.replace(/--\[\[[^]*?\]\]|--.*/g, '');
    const source = lua
      .replace(/[^\S\n]+$/gm, '')
      .trim()
      .replace(/\n{2,}/g, '\n');
    const sha1 = createHash('sha1').update(source).digest('hex');
    return `export const ${name}: { readonly source: string; readonly sha1: string } = {
  sha1: '${sha1}',
  source: String.raw\`${source}\`,
};
`;
  });
  return `// Made by scripts/build/print-program.mjs from ${files.join(' and ')}.\n${constants.join('\n')}`;
}

let stale = 0;
for (const [file, text] of wanted) {
  if (process.argv.includes('--check')) {
    if (readFileSync(file, 'utf8') === text) continue;
    stale++;
    console.error(`${file.pathname} is stale: run node scripts/build/print-program.mjs`);
  } else writeFileSync(file, text);
}
process.exit(stale === 0 ? 0 : 1);
