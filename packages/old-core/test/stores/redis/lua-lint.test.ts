import { afterAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LINT = fileURLToPath(new URL('../../../../../scripts/check/lint-lua.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-lint-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Lints these, each as a file of its own, and answers the rules that each breaks, line by line. */
function broken(snippets: readonly string[]): string[][] {
  const files = snippets.map((_, i) => join(folder, `${String(i)}.lua`));
  files.forEach((file, i) => {
    writeFileSync(file, snippets[i] as string);
  });
  const { stderr } = spawnSync(process.execPath, [LINT, ...files], { encoding: 'utf8' });
  return files.map((file) =>
    stderr.split('\n').flatMap((line) => (line.startsWith(`${file}:`) ? [line.split(': ')[1] as string] : [])),
  );
}

const bad: readonly (readonly [rule: string, snippet: string])[] = [
  ['shebang', '#!lua flags=no-writes'],
  ['globals', 'local low = bit.band(1, 3)'],
  ['globals', 'local ip = server.call("TIME")'],
  ['globals', 'return tostring(now)'],
  ['globals', 'local code = loadstring("return 1")'],
  ['globals', 'setfenv(1, {})'],
  ['globals', 'local at = os.time()'],
  ['globals', '_G.x = 1'],
  ['libraries', 'return table.getn(list)'],
  ['libraries', 'redis.setresp(3)'],
  ['libraries', 'redis.replicate_commands()'],
  ['libraries', 'return redis.sha1hex("")'],
  ['libraries', 'return math.random()'],
  ['libraries', 'return math.pow(2, 3)'],
  ['aliases', 'local call = redis.call'],
  ['aliases', 'local r = redis'],
  ['aliases', 'local keys = KEYS'],
  ['commands', 'redis.call("EXPIRE", KEYS[1], 1)'],
  ['commands', 'redis.pcall("GET", key)'],
  ['commands', 'redis.call("SET", "fixed", 1)'],
  ['commands', 'redis.call(what, KEYS[1])'],
  ['numbers', 'return now_ms .. ":"'],
  ['numbers', 'return ":" .. used'],
  ['numbers', 'return 17 .. ""'],
  ['operators', 'local half = 7 // 2'],
  ['operators', 'local low = 7 & 2'],
  ['operators', 'local high = 1 << 4'],
  ['operators', 'local one <const> = 1'],
  ['jumps', 'goto done'],
  ['jumps', '::done::'],
  ['escapes', 'return "\\x41"'],
  ['loops', 'while true do'],
  ['loops', 'repeat'],
];

describe('the lint of the Lua', () => {
  const found = broken(bad.map(([, snippet]) => snippet));

  it.each(bad.map(([rule, snippet], i) => ({ rule, snippet, i })))('finds by $rule: $snippet', ({ rule, i }) => {
    expect(found[i]).toEqual([rule]);
  });

  it('has no rule without an example here', () => {
    const { stdout } = spawnSync(process.execPath, [LINT, '--rules'], { encoding: 'utf8' });

    expect(new Set(bad.map(([rule]) => rule))).toEqual(new Set(stdout.trim().split('\n')));
  });

  it('says in which line', () => {
    const file = join(folder, 'lines.lua');
    writeFileSync(file, '--[[ goto\n#!lua ]]\nlocal text = "goto" -- goto\ngoto done\n');

    const { stderr, status } = spawnSync(process.execPath, [LINT, file], { encoding: 'utf8' });

    expect(stderr).toMatch(/lines\.lua:4: jumps/);
    expect(stderr.match(/lines\.lua/g)).toHaveLength(1);
    expect(status).toBe(1);
  });

  it('passes what is portable', () => {
    const fine = [
      'local time = redis.call("TIME")',
      'for i = 1, #KEYS do redis.call("SET", KEYS[i], text, "PXAT", string.format("%d", at_ms)) end',
      'local text = string.format("%d%06d", now_ms, part) .. ":" .. counts',
      'while at < upto do at = at + 1 end',
      'if a ~= b then policy.load = policy.limit end',
    ];

    expect(broken(fine)).toEqual(fine.map(() => []));
  });
});
