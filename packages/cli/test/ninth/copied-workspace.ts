import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const COPIED = [
  'old-core',
  'old-http',
  'old-managed',
  'old-split',
  'remote',
  'page',
  'server',
  'simulate',
  'cli',
  'old-testing',
  'testkit',
];
const NINTH = fileURLToPath(new URL('../../../old-core/test/algorithms/shifted-window/', import.meta.url));

/**
 * Copies core, the service, the command, their dependencies and what tests use into a folder, adds the algorithm of
 * shifted-window/ and its line, and builds.
 */
export function copyWithNinth(copy: string): void {
  for (const name of COPIED) copyPackage(copy, name);
  linkDependencies(copy);
  write(
    join(copy, 'packages/old-core/jest.config.mjs'),
    `import config from ${JSON.stringify(join(ROOT, 'jest.config.mjs'))};
const core = config.projects.find(({ displayName }) => displayName === 'old-core');
export default { ...core, rootDir: '.', testTimeout: config.testTimeout };
`,
  );
  symlinkSync(join(ROOT, 'scripts'), join(copy, 'scripts'));

  const core = join(copy, 'packages/old-core');
  const folder = join(core, 'src/algorithms/shifted-window');
  mkdirSync(folder);
  for (const file of ['policy.ts', 'kernel.ts', 'kernel.lua', 'vectors.json', 'index.ts']) {
    // What is imported lies one folder nearer to the algorithm there.
    write(join(folder, file), read(join(NINTH, file)).replaceAll("'../../../src/", "'../../"));
  }
  write(
    join(core, 'test/laws/models/shifted-window.ts'),
    read(join(NINTH, 'model.ts'))
      .replaceAll("'../../laws/models/", "'./")
      .replaceAll(/'\.\/(policy|index)\.ts'/g, "'../../../src/algorithms/shifted-window/$1.ts'"),
  );
  register(
    join(core, 'src/algorithms/index.ts'),
    'concurrencyAlgorithm',
    'shiftedWindowAlgorithm',
    './shifted-window/index.ts',
  );
  register(
    join(core, 'test/laws/models/index.ts'),
    'concurrencyReference',
    'shiftedWindowReference',
    './shifted-window.ts',
  );

  run(ROOT, 'scripts/build/build-lua.mjs', join(copy, 'packages'));
  for (const name of ['old-core', 'cli']) {
    run(ROOT, 'node_modules/@typescript/native/bin/tsc', '-p', join(copy, 'packages', name));
  }
  run(ROOT, 'scripts/build/build.mjs', copy);
}

/**
 * Adds a name beside another one wherever that stands in a list, and imports it: what one line says of an algorithm.
 */
function register(path: string, beside: string, name: string, from: string): void {
  const text = read(path);
  const listed = text.replace(new RegExp(`^( +(?:typeof )?)${beside},$`, 'gm'), `$&\n$1${name},`);
  if (listed === text) throw new Error(`${path} lists no ${beside}`);
  write(path, `import { ${name} } from '${from}';\n${listed}`);
}

function copyPackage(copy: string, name: string): void {
  const [from, to] = [join(ROOT, 'packages', name), join(copy, 'packages', name)];
  mkdirSync(to, { recursive: true });
  for (const part of ['src', 'package.json', ...(name === 'old-core' ? ['test'] : [])]) {
    cpSync(join(from, part), join(to, part), { recursive: true });
  }
  write(join(to, 'tsconfig.json'), JSON.stringify({ extends: join(from, 'tsconfig.json'), include: ['src'] }));
}

/** Every dependency of the workspace and of these packages, and the packages themselves as they are copied. */
function linkDependencies(copy: string): void {
  const into = join(copy, 'node_modules');
  const linked = new Set<string>();
  const link = (target: string, name: string): void => {
    if (linked.has(name)) return;
    linked.add(name);
    mkdirSync(join(into, name, '..'), { recursive: true });
    symlinkSync(realpathSync(target), join(into, name));
  };
  for (const name of COPIED) link(join(copy, 'packages', name), `@sluice/${name}`);
  for (const owner of [...COPIED.map((name) => `packages/${name}`), '.']) {
    const from = join(ROOT, owner, 'node_modules');
    for (const entry of readdirSync(from)) {
      if (entry === '@sluice' || entry === '.pnpm' || entry === '.bin') continue;
      const names = entry.startsWith('@') ? readdirSync(join(from, entry)).map((name) => `${entry}/${name}`) : [entry];
      for (const name of names) link(join(from, name), name);
    }
  }
}

function run(folder: string, ...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`);
}

function read(path: string): string {
  return readFileSync(path, 'utf8');
}

function write(path: string, text: string): void {
  writeFileSync(path, text);
}
