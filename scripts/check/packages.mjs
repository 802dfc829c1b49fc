// Packs every public package as it would be published, and checks the tarball: publint, attw, and three programs that
// import it (ES module, CommonJS, TypeScript). The command is not imported: publint and a run check it.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pnpm } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
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

/** The package of the service has ES modules only: it is a program's own process, which loads them. */
const hasCommonJs = ({ exports, bin }) => bin !== undefined || JSON.stringify(exports).includes('"require"');

try {
  const modules = join(work, 'node_modules');
  for (const { name, folder, exports, bin } of packages) {
    if (pnpm(['pack', '--pack-destination', work, '--reporter=silent'], folder).status !== 0)
      throw new Error(`${name} cannot be packed`);
    const tarball = join(
      work,
      readdirSync(work).find(
        (file) => file.startsWith(name.replace('@', '').replace('/', '-')) && file.endsWith('.tgz'),
      ),
    );
    run('node_modules/.bin/publint', ['run', tarball, '--strict']);
    run('node_modules/.bin/attw', [tarball, ...(hasCommonJs({ exports, bin }) ? [] : ['--profile', 'esm-only'])]);
    const target = join(modules, name);
    mkdirSync(target, { recursive: true });
    run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    const shipped = run('tar', ['-tzf', tarball]).split('\n');
    for (const wanted of ['package/README.md', 'package/LICENSE'])
      if (!shipped.includes(wanted)) throw new Error(`${name} lacks ${wanted}`);
    const stray = shipped.find((file) => /tsbuildinfo|(internal|fields)\.(js|d\.ts)$|\.test\./.test(file));
    if (stray !== undefined) throw new Error(`${name} ships ${stray}`);
    console.log(`${name}: ${shipped.length} files, publint and attw agree`);
  }
  // Peer dependencies: the users of a package have the framework and its types.
  for (const [owner, ...names] of [
    ['packages/core', 'prom-client', '@opentelemetry/api'],
    ['packages/express', 'express', '@types/express'],
    ['packages/fastify', 'fastify', 'fastify-plugin'],
    ['packages/koa', 'koa', '@types/koa'],
    ['packages/web', 'hono'],
    ['packages/nestjs', '@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
    ['.', '@types/node'],
  ]) {
    for (const name of names) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(realpathSync(join(root, owner, 'node_modules', name)), join(modules, name));
    }
  }
  const program = "const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });\n";
  const main =
    'const first = await limiter.consume("a");\nconst second = await limiter.consume("a");\nif (!first.allowed || second.allowed) throw new Error("a limit of 1 does not hold");\n';
  const frameworks = {
    express: "if (typeof rateLimit({ limit: 1, window: '1m' }) !== 'function') throw new Error('no middleware');\n",
    fastify: "if (typeof sluice !== 'function') throw new Error('no plugin');\n",
    koa: "if (typeof rateLimit({ limit: 1, window: '1m' }) !== 'function') throw new Error('no middleware');\n",
    web: "if (typeof rateLimit({ limit: 1, window: '1m', address: () => '203.0.113.7' }).handle !== 'function') throw new Error('no limit');\n",
    nestjs:
      "if (RateLimitModule.forRoot({ limit: 1, window: '1m' }).module !== RateLimitModule) throw new Error('no module');\n",
  };
  const own = {
    express: 'rateLimit',
    fastify: 'sluice',
    koa: 'rateLimit',
    nestjs: 'RateLimitModule',
    web: 'rateLimit',
  };
  for (const [framework, check] of Object.entries(frameworks)) {
    const names = `{ createLimiter, fixedWindow, ${own[framework]} }`;
    writeFileSync(
      join(work, `${framework}.mjs`),
      `import ${names} from '@sluice/${framework}';\n${program}${main}${check}`,
    );
    writeFileSync(
      join(work, `${framework}.cjs`),
      `const ${names} = require('@sluice/${framework}');\n${program}(async () => {\n${main}${check}})().catch((error) => { console.error(error); process.exit(1); });\n`,
    );
  }
  writeFileSync(
    join(work, 'program.mts'),
    `import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { byUser, createLimiter, fixedWindow, rateLimit, type Decision } from '@sluice/express';
import { inspectKey, type KeyReport } from '@sluice/core/inspect';
import { fixedMembership, splitStore } from '@sluice/split';
import { remoteStore } from '@sluice/remote';
import { collectMetrics } from '@sluice/core/metrics';
import { reportToOpenTelemetry } from '@sluice/core/opentelemetry';
import sluice from '@sluice/fastify';
import { rateLimit as koaRateLimit } from '@sluice/koa';
import { RateLimitModule } from '@sluice/nestjs';
import { keysOf, performRequest } from '@sluice/core/spi';
import { describeStore, expectLimited, fakeClock } from '@sluice/testing';
import { fromNode, rateLimit as webRateLimit } from '@sluice/web';
import { rateLimit as honoRateLimit } from '@sluice/web/hono';
import { Hono } from 'hono';
const limiter = createLimiter({ limits: [{ name: 'per-ip', policy: fixedWindow({ limit: 1, window: '1m' }) }] });
const decision: Decision = await limiter.consume({ 'per-ip': 'a' });
express().use(rateLimit({ limit: 1, window: '1m', key: byUser((request) => request.get('x-user')) }), (request, response) => {
  response.json(request.rateLimit?.decision.remaining ?? decision.remaining);
});
const app = Fastify();
await app.register(sluice, { limit: 1, window: '1m', key: byUser((request) => request.id) });
app.get('/', { onRequest: app.rateLimit({ limit: 1, window: '1m' }), config: { rateLimit: false } }, (request) => request.rateLimit?.decision.remaining);
new Koa().use(koaRateLimit({ limit: 1, window: '1m', key: (ctx) => ctx.ip })).use((ctx) => (ctx.body = ctx.state.rateLimit?.decision.remaining));
RateLimitModule.forRoot({ limit: 1, window: '1m' });
const handler: (request: Request) => unknown = webRateLimit({ limit: 1, window: '1m', key: (request) => request.url, address: fromNode }).handle((request: Request) => new Response(String(request.rateLimit?.key)));
new Hono().use(honoRateLimit({ limit: 1, window: '1m', key: (c) => c.req.header('x-user') })).get('/', (c) => c.json(c.var.rateLimit?.decision.remaining));
const report: KeyReport = inspectKey('sluice:{a}:api:2f', '', decision.atMs);
const stops: (() => void)[] = [collectMetrics({ prefix: 'limits_' }), reportToOpenTelemetry()];
const stores = [splitStore({ membership: fixedMembership({ instances: 1, index: 0 }) }), remoteStore('sluice://127.0.0.1:1')];
const testing: readonly unknown[] = [stores, keysOf, performRequest, describeStore, expectLimited, fakeClock];
`,
  );
  for (const [file, load] of [
    ['without-ioredis.mjs', "import { redisStore } from '@sluice/core';"],
    ['without-ioredis.cjs', "const { redisStore } = require('@sluice/core');"],
  ]) {
    writeFileSync(
      join(work, file),
      `${load}
let code;
try { redisStore('redis://127.0.0.1:1'); } catch (error) { code = error.code; }
if (code !== 'SLUICE_REDIS_CLIENT_MISSING') throw new Error(\`without ioredis a URL gives \${code}\`);
`,
    );
    run('node', [file], work);
  }
  const metrics =
    "if (inspectKey('sluice:{a}:api:2f', '', 1).problem !== null) throw new Error('no inspection');\nif (typeof collectMetrics() !== 'function' || typeof reportToOpenTelemetry() !== 'function') throw new Error('no metrics');\n";
  for (const [file, load] of [
    ['metrics.mjs', (name, path) => `import { ${name} } from '${path}';\n`],
    ['metrics.cjs', (name, path) => `const { ${name} } = require('${path}');\n`],
  ]) {
    const loaded =
      load('inspectKey', '@sluice/core/inspect') +
      load('collectMetrics', '@sluice/core/metrics') +
      load('reportToOpenTelemetry', '@sluice/core/opentelemetry');
    writeFileSync(join(work, file), loaded + metrics);
    run('node', [file], work);
  }
  for (const [file, load] of [
    ['testing.mjs', "import { fakeClock } from '@sluice/testing';\n"],
    ['testing.cjs', "const { fakeClock } = require('@sluice/testing');\n"],
  ]) {
    writeFileSync(
      join(work, file),
      `${load}const clock = fakeClock(5);\nclock.advance(2);\nif (clock.now() !== 7) throw new Error('no clock');\n`,
    );
    run('node', [file], work);
  }
  for (const framework of Object.keys(frameworks)) {
    run('node', [`${framework}.mjs`], work);
    run('node', [`${framework}.cjs`], work);
  }
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

  // Last, because ioredis must not be installed before.
  for (const [owner, ...names] of [
    ['packages/cli', 'commander', 'ioredis', 'yaml'],
    ['packages/server', 'prom-client'],
  ]) {
    for (const name of names) {
      const link = join(modules, name);
      if (!existsSync(link)) symlinkSync(realpathSync(join(root, owner, 'node_modules', name)), link);
    }
  }
  const { bin, version } = JSON.parse(readFileSync(join(modules, '@sluice/cli/package.json'), 'utf8'));
  const printed = run('node', [join(modules, '@sluice/cli', bin.sluice), '--version'], work).trim();
  if (printed !== version) throw new Error(`sluice --version prints ${printed} instead of ${version}`);
  writeFileSync(
    join(work, 'limits.yaml'),
    'domain: edge\ndescriptors:\n  - key: remote_address\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n',
  );
  run('node', [join(modules, '@sluice/cli', bin.sluice), 'serve', '--config', 'limits.yaml', '--check'], work);
  console.log('sluice runs');
} finally {
  rmSync(work, { recursive: true, force: true });
}
