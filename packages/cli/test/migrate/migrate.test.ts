import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { unifiedDiff } from '../../src/migrate/edits.ts';
import { planOf, type Plan, type Target } from '../../src/migrate/plan.ts';
import { readProject } from '../../src/project/read-project.ts';
import { runSluice } from '../sluice.ts';
import { FIXTURES, type Fixture, type Outcome } from './fixtures.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const names = Object.keys(FIXTURES);
let work: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'sluice-migrate-'));
});
afterAll(() => {
  rmSync(work, { recursive: true, force: true });
});

/** Writes a fixture, and returns its folder. */
function written(name: string, state: string): string {
  const folder = join(work, state, name);
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries((FIXTURES[name] as Fixture).files)) writeFileSync(join(folder, path), text);
  return folder;
}

async function planned(name: string, target: Target): Promise<Plan> {
  return planOf(await readProject(written(name, 'planned')), target);
}

describe.each(names)('%s', (name) => {
  const fixture = FIXTURES[name] as Fixture;

  it('is read: each limiter has its file and line', async () => {
    const { limiters } = await planned(name, 'drop-in');

    expect(limiters.map(({ path, line }) => `${path}:${String(line)}`)).toEqual(fixture.limiters);
  });

  it.each<[Target, Outcome]>([
    ['drop-in', fixture.dropIn],
    ['sluice', fixture.sluice],
  ])(
    'is changed to %s where it is understood, and left with a reason elsewhere',
    async (target, { changed = [], left = {} }) => {
      const plan = await planned(name, target);

      expect(plan.changes.map(({ path }) => path)).toEqual(changed);
      expect(plan.left.map(({ path, line, why }) => [`${path}:${String(line)}`, why])).toEqual(
        Object.entries(left).map(([place, why]) => [place, expect.stringContaining(why)]),
      );
    },
  );
});

/** Whole applications: what has changed is built, and its own test passes, as it did before. */
describe('a changed application', () => {
  it.each<['before' | Target]>([['before'], ['drop-in'], ['sluice']])('passes its tests: %s', async (state) => {
    const tested: string[] = [];
    for (const name of names) {
      const folder = written(name, state);
      const plan = state === 'before' ? { changes: [] } : planOf(await readProject(folder), state);
      for (const { path, after } of plan.changes) writeFileSync(join(folder, path), after);
      if (existsSync(join(folder, 'check.mjs')) && (state === 'before' || plan.changes.length > 0)) tested.push(folder);
    }
    installed(join(work, state));
    for (const folder of tested) if (existsSync(join(folder, 'app.ts'))) compiled(folder);
    const program = tested.map((folder) => `await import(${JSON.stringify(join(folder, 'check.mjs'))});`).join('\n');

    const { status, stderr } = spawnSync('node', ['--input-type=module', '-e', program], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([0, '']);
    expect(tested).toHaveLength(state === 'sluice' ? 4 : 9);
  });
});

/** The packages as an application has them. */
function installed(folder: string): void {
  const modules = join(folder, 'node_modules');
  const own = join(root, 'packages/compat/node_modules');
  const links: readonly (readonly [string, string])[] = [
    ...['express', 'express-rate-limit', '@types/express'].map((name) => [name, join(own, name)] as const),
    ['@types/node', join(root, 'node_modules/@types/node')],
    ...['compat', 'express'].map((name) => [`@sluice/${name}`, join(root, 'packages', name)] as const),
  ];
  for (const [name, target] of links) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(target, join(modules, name));
  }
}

function compiled(folder: string): void {
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const options = ['--module', 'nodenext', '--strict', '--target', 'es2022', '--skipLibCheck', '--types', 'node'];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { status, stdout } = spawnSync('node', [tsc, ...options, '--outDir', 'built', 'app.ts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, '']);
}

describe('the change of a long file', () => {
  it('at its first and its last line is shown, in little memory', () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `const a${String(i)} = ${String(i)};`);
    const text = (name: string): string =>
      [`import a from '${name}';`, ...lines, `import b from '${name}';`].join('\n');

    const shown = unifiedDiff('app.js', text('old'), text('new')).split('\n');

    expect(shown.filter((line) => line.endsWith(" from 'new';"))).toEqual([
      "+import a from 'new';",
      "+import b from 'new';",
    ]);
    expect(shown[2]).toBe('@@ -1,20002 +1,20002 @@');
  });
});

describe('sluice migrate', () => {
  it('does not parse programs that name no package that it knows, such as one that nests without end', async () => {
    const folder = written('default-import', 'nested');
    writeFileSync(join(folder, 'data.js'), `const x = ${'('.repeat(50_000)}1${')'.repeat(50_000)};`);

    const { code, out } = await runSluice(['migrate', folder]);

    expect([code, out]).toEqual([0, expect.stringContaining('app.mjs:5  rateLimit({')]);
  });

  const nested: readonly (readonly [string, (deep: number) => string])[] = [
    ['parentheses', (deep) => `${'('.repeat(deep)}1${')'.repeat(deep)}`],
    ['functions', (deep) => `${'a=>'.repeat(deep)}1`],
    ['a sum', (deep) => `${'a+'.repeat(deep)}1`],
  ];

  it.each(['migrate', 'doctor'])('reads the other files where some nest 20 000 deep: %s', async (command) => {
    const folder = written('default-import', `deep ${command}`);
    for (const [name, text] of nested)
      writeFileSync(join(folder, `${name}.js`), `import 'express-rate-limit';\nx = ${text(20_000)};`);

    const { code, out } = await runSluice([command, folder]);

    expect(code).toBe(0);
    for (const [name] of nested) expect(out).toMatch(new RegExp(`${name}.js.*: it nests too deep`));
    expect(out).toContain(command === 'migrate' ? 'app.mjs:5  rateLimit({' : '0 certain to be wrong');
  });

  it('reads a long file that does not nest', async () => {
    const folder = written('default-import', 'long');
    const numbers = Array.from({ length: 1000 }, (_, i) => `export const a${String(i)} = [${String(i)}n, /a/u];\n`);
    writeFileSync(join(folder, 'long.mjs'), `import limit from 'express-rate-limit';\nlimit();\n${numbers.join('')}`);

    const { limiters, left } = planOf(await readProject(folder), 'drop-in');

    expect([limiters.map(({ path, line }) => [path, line]), left]).toEqual([
      [
        ['app.mjs', 5],
        ['long.mjs', 2],
      ],
      [],
    ]);
  });

  it('prints limiters, what is different, and the change, and writes it where it is told to', async () => {
    const folder = written('default-import', 'printed');
    const before = readFileSync(join(folder, 'app.mjs'), 'utf8');

    const shown = await runSluice(['migrate', folder]);
    const unchanged = readFileSync(join(folder, 'app.mjs'), 'utf8');
    const done = await runSluice(['migrate', folder, '--write']);
    const again = await runSluice(['migrate', folder]);

    expect(shown.err).toBe('');
    expect(shown.out).toContain('app.mjs:5  rateLimit({');
    expect(shown.out).toContain('counts in the memory of each process');
    expect(shown.out).toContain(
      "-import rateLimit from 'express-rate-limit';\n+import rateLimit from '@sluice/compat/express-rate-limit';",
    );
    expect(shown.out).toMatch(/\+ {4}"@sluice\/compat": "\^\d/);
    expect(shown.out).toContain('nothing was written');
    expect(unchanged).toBe(before);
    expect(done.out).toContain('written: app.mjs, package.json');
    expect(readFileSync(join(folder, 'app.mjs'), 'utf8')).toBe(
      before.replace('express-rate-limit', '@sluice/compat/express-rate-limit'),
    );
    expect(again.out).toBe('no limiter of a package that is known');
  });

  it('lists a file that cannot be parsed only if it names a package of limits', async () => {
    const folder = written('default-import', 'flow');
    const flow = 'export function total(prices: ?Array<number>) {}';
    writeFileSync(join(folder, 'prices.js'), flow);
    writeFileSync(join(folder, 'limits.js'), `import { rateLimit } from 'express-rate-limit';\n${flow}`);

    const { out } = await runSluice(['migrate', folder]);

    expect(out).toContain('limits.js:1  left as it is: it cannot be read');
    expect(out).not.toContain('prices.js');
  });

  it.each([
    ['^5.0.0', 'limit: 5', ['from 5 to 8: IPv6 addresses of one /56 count together']],
    ['^5.0.0', 'max: LIMIT, keyGenerator', ['from 5 to 8: a limit of 0 denies every request, instead of none']],
    ['~7.5.1', 'limit: 0', ['from 7 to 8: IPv6 addresses of one /56 count together']],
    ['8.0.0', 'max: LIMIT', []],
  ])('says what is different from version %s for { %s }', async (range, options, notes) => {
    const folder = written('default-import', `version ${range} ${options}`);
    const manifest = readFileSync(join(folder, 'package.json'), 'utf8');
    writeFileSync(join(folder, 'package.json'), manifest.replace('^8.0.0', range));
    writeFileSync(
      join(folder, 'app.mjs'),
      `import { rateLimit } from 'express-rate-limit';\nexport default rateLimit({ ${options} });`,
    );

    const { limiters } = planOf(await readProject(folder), 'drop-in');

    expect(limiters[0]?.notes.filter((note) => note.startsWith('from '))).toEqual(notes);
  });

  it('writes the options of Sluice', async () => {
    const folder = written('default-import', 'own');

    await runSluice(['migrate', folder, '--to', 'sluice', '--write']);

    expect(readFileSync(join(folder, 'app.mjs'), 'utf8'))
      .toContain(`import { byIp, fixedWindow, rateLimit } from '@sluice/express';

export const app = express();
app.use(rateLimit({
  policy: fixedWindow({ limit: 2, window: 15 * 60 * 1000 }),
  key: byIp({ ipv6Prefix: 56 }),
  headers: 'draft-7',
}));`);
  });

  it('prints the plan for programs', async () => {
    const { out } = await runSluice(['--json', 'migrate', written('other-packages', 'json')]);

    expect(JSON.parse(out)).toMatchObject({
      limiters: [{ peer: '@fastify/rate-limit' }, { peer: 'rate-limiter-flexible' }, { peer: '@nestjs/throttler' }],
      changes: [],
      left: [{ path: 'broken.js', line: 1 }],
    });
  });
});
