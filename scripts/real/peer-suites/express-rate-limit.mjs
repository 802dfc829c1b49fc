// The suite of express-rate-limit against @sluice/compat/express-rate-limit: nothing of it is changed, its imports of
// the source lead to ours.
//
//   npm run real -- express-rate-limit [REPOSITORY]
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asAllowed, casesOfJest, checkedOut, installed, root } from './suite.mjs';

const NAME = 'express-rate-limit';
const sources = join(root, 'packages/compat/src/express-rate-limit');
const FILES = {
  index: 'index',
  types: 'options',
  headers: 'headers',
  validations: 'validations',
  'memory-store': 'memory-store',
  'console-logger': 'console-logger',
};

const folder = checkedOut(NAME, process.argv[2]);
installed(folder, ['ratelimit-header-parser@0.1.0', 'supertest@7.3.2']);
cpSync(join(root, 'packages/compat/dist/express-rate-limit.d.ts'), join(folder, 'dist/index.d.ts'));
const config = join(folder, 'jest.sluice.json');
writeFileSync(
  config,
  JSON.stringify({
    rootDir: folder,
    testMatch: ['<rootDir>/test/library/**/*-test.ts'],
    testTimeout: 30_000,
    modulePaths: [join(root, 'packages/compat/node_modules'), join(root, 'node_modules')],
    testEnvironmentOptions: { customExportConditions: ['@sluice/source', 'node', 'node-addons'] },
    moduleNameMapper: {
      ...Object.fromEntries(
        Object.entries(FILES).map(([theirs, ours]) => [`/source/${theirs}(\\.js)?$`, join(sources, `${ours}.ts`)]),
      ),
      '^(\\.{1,2}/helpers/.*)\\.js$': '$1',
    },
    transform: {
      '\\.ts$': [
        join(root, 'scripts/test/jest-transform.mjs'),
        { swcrc: false, module: { type: 'commonjs' }, jsc: { target: 'es2022', parser: { syntax: 'typescript' } } },
      ],
    },
  }),
);
process.exitCode = asAllowed(NAME, casesOfJest(folder, config)) ? 0 : 1;
