// Writes the scripts in packages/core/src/stores/redis/lua/generated: the program as Lua, and what only Redis has around it.
// One for each family, and one for all. With --check it compares.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { printLua } from './to-lua.mjs';

const core = new URL('../../packages/core/src/', import.meta.url);
const path = (name) => new URL(name, core);
const FAMILIES = { window: 'fi', debt: 'tl', blocks: 's', counter: 'c', slots: 'gh' };
const FILES = ['numbers', 'decide', ...Object.keys(FAMILIES)].map((name) => path(`program/${name}.ts`).pathname);
const NEEDED = ['reads', 'freeAt', 'emptyAt', 'endsAt', 'add', 'give'];
const FOR_FIGURES = ['used', 'left'];

const read = (name) => readFileSync(path(`stores/redis/lua/program/${name}.lua`), 'utf8');
const glue = read('perform');

function script(families) {
  const names = Object.keys(families);
  const tellsFigures = 'slots' in families;
  const members = tellsFigures ? [...NEEDED, ...FOR_FIGURES] : NEEDED;
  const roots = names.flatMap((family) => members.map((member) => `${family}.${member}`));
  const deciding = ['decide.decide', 'decide.change', ...(tellsFigures ? ['decide.figures'] : [])];
  const program = printLua(FILES, [...roots, ...deciding], names.length === 1 ? names[0] : undefined);
  const table = names.flatMap((family) => {
    const record = members.map((member) => `  ${member} = ${family}_${member},\n`).join('');
    return [`local ${family} = {\n${record}}\n`];
  });
  const kinds = names.flatMap((family) => [...families[family]].map((kind) => `${kind} = ${family}`)).join(', ');
  return `-- Made by scripts/build/print-program.mjs from packages/core/src/program: change it there.\n${program}\n${table.join('')}local families = { ${kinds} }\n\n${tells(names)}${glue}`;
}

/** A state that is long stays in Redis: its script answers figures. */
function tells(names) {
  if (!names.includes('slots'))
    return glue.includes('decide_figures') ? 'local tells_figures, decide_figures = false, nil\n' : '';
  return `local tells_figures = ${names.length === 1 ? 'true' : 'string.find(ARGV[1], "[gh]") ~= nil'}\n`;
}

const scripts = Object.entries({ ...FAMILIES, all: '' }).map(([name, kinds]) => [
  name,
  script(name === 'all' ? FAMILIES : { [name]: kinds }),
]);
const wanted = new Map(scripts.map(([name, text]) => [`${name}.lua`, text]));
wanted.set('scripts.generated.ts', asModule(scripts));

/** The scripts as the store sends them: without comments and indentation. */
function asModule(scripts) {
  const constants = scripts.map(([name, text]) => {
    const source = text.replace(/^\s+|\s*(^| )--.*$/gm, '');
    const sha1 = createHash('sha1').update(source).digest('hex');
    return `  ${name}: {\n    sha1: '${sha1}',\n    source: ${JSON.stringify(source)},\n  },\n`;
  });
  return `// Made by scripts/build/print-program.mjs.
export interface Script {
  readonly sha1: string;
  readonly source: string;
}

export type ScriptName = ${scripts.map(([name]) => `'${name}'`).join(' | ')};

export const SCRIPTS: Readonly<Record<ScriptName, Script>> = {
${constants.join('')}};
`;
}
mkdirSync(path('stores/redis/lua/generated/'), { recursive: true });
let stale = 0;
for (const [name, text] of wanted) {
  const file = path(`stores/redis/lua/generated/${name}`);
  if (process.argv.includes('--check')) {
    if (readFileSync(file, 'utf8') !== text) {
      stale++;
      console.error(`${file.pathname} is not what the program prints: run node scripts/build/print-program.mjs`);
    }
  } else writeFileSync(file, text);
}
process.exit(stale === 0 ? 0 : 1);
