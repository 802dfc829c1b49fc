// Lints the Lua as it is run: all kernels and the frame in one script. luacheck (Debian: lua-check) finds globals and what is not used; the rest is what
// keeps the script running on every Redis, Valkey and managed service: see docs/adr/0004-one-script.md.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const core = new URL('../packages/core/src/', import.meta.url);
const folders = readdirSync(new URL('algorithms/', core), { withFileTypes: true }).filter((entry) =>
  entry.isDirectory(),
);
const files = [
  'algorithms/instant-and-field.lua',
  ...folders.map(({ name }) => `algorithms/${name}/kernel.lua`),
  'stores/redis/frame.lua',
];

const BANNED = [
  [/\bunpack\b/, 'unpack fails on long lists and is refused by some services'],
  [/\bcjson\b|\bcmsgpack\b|\bstruct\b|\bbit\b/, 'libraries differ between servers'],
  [/^#!/m, 'a shebang is an error before Redis 7 and elsewhere'],
  [/\btostring\(.*_ms|\.\. *[a-z_]*_ms\b/, 'tostring and .. keep 14 digits only: format with %d'],
  [/redis\.p?call\((?!"TIME"|"(?:GET|SET|DEL)", KEYS\[)/, 'only TIME, GET, SET and DEL, and every key as KEYS[...]'],
];

let failed = false;
let script = 'local algorithms = {}\n';
for (const file of files) {
  const source = readFileSync(new URL(file, core), 'utf8');
  for (const [pattern, why] of BANNED) {
    source.split('\n').forEach((line, i) => {
      if (!pattern.test(line.replace(/--.*$/, ''))) return;
      failed = true;
      console.error(`${file}:${i + 1}: ${why}\n  ${line.trim()}`);
    });
  }
  const module = /algorithms\/(.*)\/kernel\.lua/.exec(file)?.[1].replaceAll('-', '_');
  script += module === undefined ? source : `do\n${source}\nalgorithms[${module}.kind] = ${module}\nend\n`;
}

const luacheck = spawnSync(
  'luacheck',
  ['-', '--no-color', '--std', 'lua51', '--read-globals', 'redis', 'KEYS', 'ARGV', '--no-max-line-length'],
  {
    input: script,
    encoding: 'utf8',
  },
);
if (luacheck.error !== undefined) {
  console.error('luacheck did not run: install it (Debian, Ubuntu: apt-get install lua-check).');
  process.exit(1);
}
if (luacheck.status !== 0) console.error(luacheck.stdout + luacheck.stderr);
process.exit(failed || luacheck.status !== 0 ? 1 : 0);
