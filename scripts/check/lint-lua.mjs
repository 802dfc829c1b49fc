// Lints the Lua for what keeps it running on every server: globals and functions that all have, by luacheck (Debian:
// lua-check), and what luacheck does not look for. See docs/adr/0111-one-program.md.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Per rule, what it finds in a line without comments and strings. */
const RULES = [
  [
    /\bredis\b(?!\.p?call\()|\bKEYS\b(?!\s*\[)(?<!#KEYS)/,
    'redis.call(...) and KEYS[...] are written out where they are used: some services look for them',
  ],
  [
    /\btostring\b|\.\.\s*[\w.]*(?:_ms|sum|used|cost|limit|part)\b(?!\s*[([])|\b[\w.]*_ms\s*\.\.|(?<![\w.])\d+\s*\.\./,
    'numbers become text by string.format with %d or %.0f alone: .. keeps 14 digits, or adds a fraction',
  ],
  [
    /\brepeat\b|\bwhile\s+(?:true|1)\b/,
    'a loop says in its first line when it ends: one that goes on stops the server',
  ],
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = (command, ...args) => spawnSync(command, args, { cwd: root, encoding: 'utf8' });
const listed = run('git', 'ls-files', '--cached', '--others', '--exclude-standard', 'packages/*/src/**.lua').stdout;
// These are parts of printed scripts.
const files = listed.split('\n').filter((file) => file !== '' && !file.includes('/lua/program/'));

const found = files.flatMap((file) => {
  const code = readFileSync(`${root}/${file}`, 'utf8').replace(/--\[\[.*?\]\]/gs, (text) => text.replace(/.*/g, ''));
  return code.split('\n').flatMap((line, i) => {
    const bare = line.replace(/--.*/, '').replace(/"(?:\\.|[^"\\])*"/g, '""');
    return RULES.filter(([pattern]) => pattern.test(bare)).map(([, why]) => `${file}:${i + 1}: ${why}\n  ${line}`);
  });
});
for (const problem of found) console.error(problem);
const { error, status, stdout } = run(
  'luacheck',
  '--config',
  'scripts/check/luacheckrc.lua',
  '-q',
  '--no-color',
  ...files,
);
if (error !== undefined) console.error('luacheck did not run: install it (Debian, Ubuntu: apt-get install lua-check).');
else if (status !== 0) console.error(stdout);
process.exit(found.length === 0 && status === 0 ? 0 : 1);
