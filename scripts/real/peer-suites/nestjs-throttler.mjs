// The suite of @nestjs/throttler, unchanged, on the storage of @sluice/compat/stores: in memory, and in Redis. Its version
// of NestJS is 11.
//
//   npm run real -- stores, or: node scripts/real/peer-suites/nestjs-throttler.mjs [REPOSITORY]
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '../../../packages/testkit/dist/redis-server.js';
import { asAllowed, casesOfJest, checkedOut, installed, linked, replaced, root } from './suite.mjs';

const NAME = '@nestjs/throttler';
const folder = checkedOut(NAME, process.argv[2]);
const nest = ['common', 'core', 'testing', 'platform-express', 'platform-fastify'].map(
  (name) => `@nestjs/${name}@11.1.0`,
);
installed(folder, [...nest, 'reflect-metadata@0.2.2', 'rxjs@7.8.2', 'pactum@3', 'jest@29.7.0']);
linked(folder, ['core', 'compat']);
replaced(folder, { 'nest-throttler-service.cjs': 'src/throttler.service.ts' });
const config = join(folder, 'jest.sluice.json');
writeFileSync(
  config,
  JSON.stringify({
    rootDir: folder,
    testRegex: '(spec|e2e-spec)\\.ts$',
    testEnvironment: 'node',
    moduleFileExtensions: ['js', 'json', 'ts'],
    transform: {
      '\\.ts$': [
        join(root, 'scripts/test/jest-transform.mjs'),
        {
          swcrc: false,
          module: { type: 'commonjs' },
          jsc: {
            target: 'es2021',
            parser: { syntax: 'typescript', decorators: true },
            transform: { legacyDecorator: true, decoratorMetadata: true },
            keepClassNames: true,
          },
        },
      ],
    },
  }),
);
const jest = join(folder, '../node_modules/jest/bin/jest.js');
const redis = await startRedis();
const cases = new Map();
// Some of its tests do not wait for what they expect to be rejected.
const NODE_OPTIONS = '--unhandled-rejections=warn';
for (const [where, env] of [
  ['memory', { NODE_OPTIONS }],
  ['Redis', { NODE_OPTIONS, SUITE_REDIS: redis.url }],
]) {
  for (const [title, passed] of casesOfJest(folder, config, env, jest)) cases.set(`${where}: ${title}`, passed);
}
await redis.stop();
process.exitCode = asAllowed(NAME, cases) ? 0 : 1;
