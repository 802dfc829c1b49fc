// Lints the Lua for what keeps it running on every Redis, Valkey, compatible server and managed service, on Lua 5.1 and
// on 5.4: see docs/adr/0111-one-program.md. Then luacheck (Debian: lua-check) looks for globals and for what is not
// used, in each script as it is run.
//
//   node scripts/check/lint-lua.mjs             all
//   node scripts/check/lint-lua.mjs file.lua... these files, by the rules below alone
//   node scripts/check/lint-lua.mjs --rules     the names of the rules
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGES, handwrittenScripts, withoutComments } from '../build/lua-parts.mjs';

/** The functions of each library that every server has, and that we use: a list to be extended with care. */
const LIBRARIES = {
  redis: ['call', 'pcall'],
  string: ['byte', 'find', 'format', 'gmatch', 'gsub', 'match', 'rep', 'sub'],
  math: ['ceil', 'floor', 'max', 'min'],
  table: ['concat', 'insert', 'remove'],
};
/** Global functions of the same kind. */
const FUNCTIONS = ['error', 'ipairs', 'pairs', 'pcall', 'tonumber', 'type'];

const others = Object.entries(LIBRARIES).map(([library, known]) => `\\b${library}\\.(?!(?:${known.join('|')})\\b)\\w+`);

/** Per rule, what it finds in a line of code. `code` has no comments; `bare` has empty strings as well. */
const RULES = {
  shebang: { code: /^#!/, why: 'a shebang is an error before Redis 7, and elsewhere' },
  globals: {
    bare: /(?<![.:\w])(?:_G|_ENV|arg|bit|bit32|cjson|cmsgpack|collectgarbage|debug|dofile|getfenv|io|load|loadfile|loadstring|module|newproxy|next|os|print|rawequal|rawget|rawlen|rawset|require|select|server|setfenv|setmetatable|struct|tostring|unpack|utf8|xpcall)\b(?!\s*=[^=])/,
    why: 'not there, not the same, or denied by some server (tostring keeps 14 digits: format with %d)',
  },
  libraries: { bare: new RegExp(others.join('|')), why: 'no function that is there and the same on every server' },
  aliases: {
    bare: /\bredis\b(?!\.p?call\()(?!\.\w)|\bredis\.p?call\b(?!\()|\bKEYS\b(?!\s*\[)(?<!#KEYS)/,
    why: 'redis.call(...) and KEYS[...] are written out where they are used: some services look for them',
  },
  commands: {
    code: /\bredis\.p?call\((?!"TIME"\)|"PUBLISH", (?:ARGV\[|channel)|"(?:GET|SET|DEL|EXISTS|HGET|HGETALL|HMGET|HSET|HDEL|LINDEX|LLEN|LPOS|LPUSH|LSET|LTRIM|PEXPIRE|PEXPIREAT|PTTL|PUBLISH|RPUSH|ZADD|ZCARD|ZRANGEBYSCORE|ZREM|ZREMRANGEBYSCORE|ZREVRANGEBYSCORE|ZSCORE)", KEYS\[)/,
    why: 'only TIME, GET, SET, DEL, EXISTS, PEXPIRE, PEXPIREAT, PTTL, PUBLISH, of hashes HGET, HGETALL, HMGET, HSET, HDEL, of lists LINDEX, LLEN, LPOS, LPUSH, LSET, LTRIM, RPUSH, of sorted sets ZADD, ZCARD, ZREM, ZSCORE and ranges by score; every key as KEYS[...], and a channel as KEYS[...] or ARGV[...]',
  },
  numbers: {
    code: /\.\.\s*[\w.]*(?:_ms|sum|used|cost|limit|part)\b(?!\s*[([])|\b[\w.]*_ms\s*\.\.|(?<![\w.])\d+\s*\.\.|string\.format\("[^"]*%(?!\d*d|\.0f|s|%)/,
    why: 'numbers become text by string.format with %d or %.0f alone: .. and %g keep 14 digits, or add a fraction',
  },
  operators: {
    bare: /\/\/|<<|>>|[&|]|~(?!=)|<\s*(?:const|close)\s*>/,
    why: 'not in Lua 5.1',
  },
  jumps: { bare: /\bgoto\b|::\s*\w+\s*::/, why: 'not in Lua 5.1' },
  escapes: { code: /"[^"]*\\[zxu][^"]*"/, why: 'not in Lua 5.1' },
  loops: {
    bare: /\brepeat\b|\bwhile\s+(?:true|1)\b/,
    why: 'a loop says in its first line when it ends: a script that goes on stops the server',
  },
};

if (process.argv[2] === '--rules') {
  console.log(Object.keys(RULES).join('\n'));
  process.exit(0);
}

const named = process.argv.slice(2);
const failures =
  named.length > 0 ? named.reduce((sum, file) => sum + lint(file, readFileSync(file, 'utf8')), 0) : lintAll();
process.exit(failures === 0 ? 0 : 1);

/**
 * What the program's scripts may use beside the rules: cjson reads a list of digits, commas and signs three times as fast
 * as patterns, is there on every server, and its errors are caught; `unpack` has another place in Lua 5.4.
 */
function withoutExceptions(line) {
  return line
    .replaceAll('cjson.decode', 'tonumber')
    .replace('local unpack = table.unpack or unpack', '')
    .replaceAll('unpack(', '(');
}

/** Prints what the rules find, and answers how much that is. */
function lint(file, source) {
  const lines = withoutComments(source).split('\n').map(withoutExceptions);
  const shown = source.split('\n');
  let found = 0;
  lines.forEach((code, i) => {
    const bare = code.replace(/"(?:\\.|[^"\\])*"/g, '""');
    for (const [name, rule] of Object.entries(RULES)) {
      if (!(rule.code?.test(code) ?? rule.bare.test(bare))) continue;
      found++;
      console.error(`${file}:${i + 1}: ${name}: ${rule.why}\n  ${shown[i].trim()}`);
    }
  });
  return found;
}

function lintAll() {
  let found = 0;
  const printed = new URL('core/src/stores/redis/lua/generated/', PACKAGES);
  for (const file of readdirSync(printed).filter((name) => name.endsWith('.lua'))) {
    const source = readFileSync(new URL(file, printed), 'utf8');
    // The functions of a family have the same parameters, whether they need them or not; a choice is printed with its opposite.
    const asPrinted = ['--no-unused-args', '--ignore', '58', '--read-globals', 'cjson', 'unpack'];
    found += lint(fileURLToPath(new URL(file, printed)), source) + luacheck(source, asPrinted);
  }
  for (const file of handwrittenScripts()) {
    const path = fileURLToPath(new URL(file, PACKAGES));
    const source = readFileSync(path, 'utf8');
    found += lint(path, source) + luacheck(source, ['--read-globals', 'unpack']);
  }
  return found;
}

function luacheck(script, options = []) {
  const globals = ['KEYS', 'ARGV', ...FUNCTIONS, ...Object.keys(LIBRARIES)];
  const args = ['-', '--no-color', '--std', 'none', '--no-max-line-length', '--read-globals', ...globals, ...options];
  const { error, status, stdout, stderr } = spawnSync('luacheck', args, { input: script, encoding: 'utf8' });
  if (error !== undefined) {
    console.error('luacheck did not run: install it (Debian, Ubuntu: apt-get install lua-check).');
    return 1;
  }
  if (status !== 0) console.error(stdout + stderr);
  return status;
}
