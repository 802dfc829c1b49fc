// Packs every public package as it would be published, and checks the tarball: publint, attw, and programs that import it (ES module,
// CommonJS, TypeScript), which `npm run real -- packages` runs too. The command is not imported: publint and a run check it.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../build/packages.mjs';
import { cache } from '../setup/cache.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = join(root, 'scripts/real/packages');
const ADAPTERS = ['express', 'fastify', 'koa', 'nestjs', 'web'];
const TYPED = ['program.mts', 'program.cts', 'handlers.mts', 'handlers.cts', 'declared.mts'];
mkdirSync(cache, { recursive: true });
const above = mkdtempSync(join(cache, 'packages-'));
const work = join(above, 'user');
const run = (command, args, cwd = root) => {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  console.error(stdout);
  throw error ?? new Error(`${command} ${args.join(' ')} ended with ${status}`);
};

try {
  const modules = join(work, 'node_modules');
  cpSync(programs, work, { recursive: true });
  packAll(work);
  for (const [folder, { manifest, formats }] of Object.entries(PACKAGES)) {
    const { name, version, bin } = manifest;
    const tarball = join(work, `sluice-${folder}-${version}.tgz`);
    const target = join(modules, name);
    mkdirSync(target, { recursive: true });
    run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    run('node_modules/.bin/publint', ['run', tarball, '--strict']);
    // The package of the service has ES modules only: it is a program's own process, which loads them.
    const isEsmOnly = !bin && !formats.includes('cjs');
    run('node_modules/.bin/attw', [tarball, ...(isEsmOnly ? ['--profile', 'esm-only'] : [])]);
    const shipped = run('tar', ['-tzf', tarball]).split('\n');
    for (const wanted of ['package/README.md', 'package/SKILL.md', 'package/LICENSE'])
      if (!shipped.includes(wanted)) throw new Error(`${name} lacks ${wanted}`);
    console.log(`${name}: ${shipped.length} files, publint and attw agree`);
  }
  for (const load of [`import { redisStore } from '@sluice/core'`, `const { redisStore } = require('@sluice/core')`]) {
    const used = `try { redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }) } catch ({ code }) { console.log(code) }`;
    const code = run('node', ['-e', `${load};${used}`], work);
    if (code.trim() !== 'SLUICE_REDIS_CLIENT_MISSING') throw new Error(`without ioredis a URL gives ${code}`);
  }
  // Users have the frameworks, their types and the clients: here what any package of this repository depends on.
  symlinkSync(join(root, 'node_modules/.pnpm/node_modules'), join(above, 'node_modules'));
  run('node', ['one-copy.mjs'], work);
  const loads = (name) => `await import('${name}'); createRequire(import.meta.url)('${name}');`;
  const both = `import { createRequire } from 'node:module'; ${ADAPTERS.map((name) => loads(`@sluice/${name}`)).join(' ')}`;
  run('node', ['--input-type=module', '-e', both], work);
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const types = ['--types', 'node', '--skipLibCheck', '--ignoreConfig'];
  const emitted = ['--declaration', '--emitDeclarationOnly', '--outDir', 'declared'];
  run('node', [tsc, ...emitted, '--strict', '--module', 'nodenext', '--target', 'es2022', ...types, ...TYPED], work);
  console.log('imported from ES modules, CommonJS and TypeScript');

  const { bin, version } = PACKAGES.cli.manifest;
  const sluice = join(modules, '@sluice/cli', bin.sluice);
  const printed = run('node', [sluice, '--version'], work).trim();
  if (printed !== version) throw new Error(`sluice --version prints ${printed} instead of ${version}`);
  writeFileSync(
    join(work, 'limits.yaml'),
    'domain: edge\ndescriptors:\n  - key: remote_address\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n',
  );
  run('node', [sluice, 'serve', '--config', 'limits.yaml', '--check'], work);
  console.log('sluice runs');
} finally {
  rmSync(above, { recursive: true, force: true });
}
