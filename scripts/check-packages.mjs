// Packs every public package as it would be published, and looks at the tarball: publint, attw, and three programs that import it (ES module, CommonJS,
// TypeScript).
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pnpm } from './pnpm.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'sluice-packages-'));
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

const packages = readdirSync(join(root, 'packages'))
  .map((folder) => ({
    folder: join(root, 'packages', folder),
    ...JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8')),
  }))
  .filter((manifest) => manifest.private !== true);

try {
  const modules = join(work, 'node_modules');
  for (const { name, folder } of packages) {
    if (pnpm(['pack', '--pack-destination', work, '--reporter=silent'], folder).status !== 0)
      throw new Error(`${name} cannot be packed`);
    const tarball = join(
      work,
      readdirSync(work).find(
        (file) => file.startsWith(name.replace('@', '').replace('/', '-')) && file.endsWith('.tgz'),
      ),
    );
    run('node_modules/.bin/publint', ['run', tarball, '--strict']);
    run('node_modules/.bin/attw', [tarball]);
    const target = join(modules, name);
    mkdirSync(target, { recursive: true });
    run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    const shipped = run('tar', ['-tzf', tarball]).split('\n');
    for (const wanted of ['package/README.md', 'package/LICENSE'])
      if (!shipped.includes(wanted)) throw new Error(`${name} lacks ${wanted}`);
    const stray = shipped.find((file) => /tsbuildinfo|internal\.(js|d\.ts)$|\.test\./.test(file));
    if (stray !== undefined) throw new Error(`${name} ships ${stray}`);
    console.log(`${name}: ${shipped.length} files, publint and attw agree`);
  }
  // What the packages expect to be there: their users have the framework and its types.
  mkdirSync(join(modules, '@types'));
  symlinkSync(join(root, 'packages/express/node_modules/express'), join(modules, 'express'));
  symlinkSync(join(root, 'packages/express/node_modules/@types/express'), join(modules, '@types/express'));
  symlinkSync(join(root, 'node_modules/@types/node'), join(modules, '@types/node'));
  const program = "const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });\n";
  const main =
    'const first = await limiter.consume("a");\nconst second = await limiter.consume("a");\nif (!first.allowed || second.allowed) throw new Error("a limit of 1 does not hold");\nif (typeof rateLimit({ limit: 1, window: "1m" }) !== "function") throw new Error("no middleware");\n';
  writeFileSync(
    join(work, 'program.mjs'),
    `import { createLimiter, fixedWindow, rateLimit } from '@sluice/express';\n${program}${main}`,
  );
  writeFileSync(
    join(work, 'program.cjs'),
    `const { createLimiter, fixedWindow, rateLimit } = require('@sluice/express');\n${program}(async () => {\n${main}})().catch((error) => { console.error(error); process.exit(1); });\n`,
  );
  writeFileSync(
    join(work, 'program.mts'),
    `import express from 'express';\nimport { byUser, createLimiter, fixedWindow, rateLimit, type Decision } from '@sluice/express';\n` +
      `const limiter = createLimiter({ limits: [{ name: 'per-ip', policy: fixedWindow({ limit: 1, window: '1m' }) }] });\n` +
      `const decision: Decision = await limiter.consume({ 'per-ip': 'a' });\n` +
      `express().use(rateLimit({ limit: 1, window: '1m', key: byUser((request) => request.get('x-user')) }), (request, response) => {\n` +
      `  response.json(request.rateLimit?.decision.remaining ?? decision.remaining);\n});\n`,
  );
  writeFileSync(
    join(work, 'without-ioredis.mjs'),
    `import { createLimiter, fixedWindow, redisStore } from '@sluice/core';
const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }), store: redisStore('redis://127.0.0.1:1'), timeoutMs: 10_000 });
const code = await limiter.consume('a').then(() => 'none', (error) => error.code);
if (code !== 'SLUICE_REDIS_CLIENT_MISSING') throw new Error(\`without ioredis a URL gives \${code}\`);
`,
  );
  run('node', ['without-ioredis.mjs'], work);
  run('node', ['program.mjs'], work);
  run('node', ['program.cjs'], work);
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  run(
    'node',
    [
      tsc,
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      'node',
      '--skipLibCheck',
      'program.mts',
    ],
    work,
  );
  console.log('imported from ES modules, CommonJS and TypeScript');
} finally {
  rmSync(work, { recursive: true, force: true });
}
