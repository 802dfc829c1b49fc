// Facts about the packages of this workspace: where they live, what each has as entry points, and how an entry
// point is called in a manifest. scripts/build/build.mjs builds from it, scripts/build/manifests.mjs writes it into the manifests.
import { readFileSync } from 'node:fs';

const root = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Where the project lives. The one place that says so is the manifest at the root. */
export const ADDRESSES = {
  /** The repository, without `.git`. */
  repository: root.repository.url.replace(/^git\+|\.git$/g, ''),
  /** The site, whose pages are those of docs/. */
  site: root.homepage,
};

const BOTH = ['esm', 'cjs'];

/**
 * What is published. Per folder of packages/:
 *
 * - `formats` - the formats of its modules;
 * - `entries` - by path in `exports`, the file in src/;
 * - `internal` - likewise, what only this workspace imports: it is built, and not published;
 * - `callable` - paths whose CommonJS form is their default export, a function with the others as properties: `require`
 *   loads that form everywhere, as it loads that of the package which it stands in for;
 * - `more` - by name, files of src/ that are built beside them and are no entry points.
 */
export const PACKAGES = {
  core: {
    formats: BOTH,
    entries: {
      '.': 'index.ts',
      './durable-object': 'durable-object/index.ts',
      './http': 'http/index.ts',
      './managed': 'managed/index.ts',
      './metrics': 'observe/metrics.ts',
      './mysql': 'mysql/index.ts',
      './opentelemetry': 'observe/opentelemetry.ts',
      './postgres': 'postgres/index.ts',
      './spi': 'spi.ts',
      './split': 'split/index.ts',
      './sqlite': 'sqlite/index.ts',
      './testing': 'testing/index.ts',
    },
  },
  page: { formats: BOTH, entries: { '.': 'index.ts', './spi': 'spi.ts' } },
  express: { formats: BOTH, entries: { '.': 'index.ts' } },
  fastify: { formats: BOTH, entries: { '.': 'index.ts' } },
  koa: { formats: BOTH, entries: { '.': 'index.ts' } },
  nestjs: { formats: BOTH, entries: { '.': 'index.ts' } },
  server: { formats: ['esm'], entries: { '.': 'index.ts' }, more: { 'read-thread': 'config/read-thread.ts' } },
  web: { formats: BOTH, entries: { '.': 'index.ts', './ai': 'ai.ts', './hono': 'hono/index.ts', './mcp': 'mcp.ts' } },
  compat: {
    formats: BOTH,
    entries: {
      './better-auth': 'better-auth.ts',
      './express-rate-limit': 'express-rate-limit/index.ts',
      './stores': 'stores/index.ts',
    },
    callable: ['./express-rate-limit'],
  },
  cli: { formats: ['esm'], entries: {}, more: { main: 'main.ts', run: 'run.ts' } },
};

/** The name of an entry point's files in dist/: `.` is index, `./http` is http. */
export const nameOf = (path) => (path === '.' ? 'index' : path.slice(2));
